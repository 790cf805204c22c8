// SPDX-License-Identifier: MIT
// What docs/event-loops.md shows: a loop of a program's own, and its executor.
#include "context.hpp"

class my_loop {
public:
    void post(std::function<void()> function) {
        const std::scoped_lock lock(mutex_);
        functions_.push_back(std::move(function));
        posted_.notify_one();
    }

    void quit() {
        post([this] { running_ = false; });
    }

    void run() {
        running_ = true;
        while (running_) {
            std::unique_lock lock(mutex_);
            posted_.wait(lock, [this] { return !functions_.empty(); });
            auto function = std::move(functions_.front());
            functions_.pop_front();
            lock.unlock();
            function();
        }
    }

private:
    std::mutex mutex_;
    std::condition_variable posted_;
    std::deque<std::function<void()>> functions_;
    bool running_ = false;
};

#include "docs/event-loops.md/3"

tryst::task<> show(tryst::exchanger<std::string>& ex, my_loop& loop) {
    std::string question = "what is new?";
    auto answer = co_await ex.exchange(std::move(question), 10s);
    std::cout << *answer << '\n'; // on the thread of my_loop
    loop.quit();
}

#include "docs/event-loops.md/2"

int main() {
    tryst::exchanger<std::string> ex;
#include "docs/event-loops.md/4"
    std::jthread worker([&] { std::cout << *tryst::sync_wait(ex.exchange("nothing")) << '\n'; });
    run(loop, executor);
}
