// SPDX-License-Identifier: MIT
// What docs/event-loops.md shows: a loop of a program's own, and its executor.
#include <tryst/tryst.hpp>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

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

class my_wake {
public:
    my_wake(tryst::loop_turns& turns, my_loop& loop)
        : turns_(&turns, [](tryst::loop_turns*) {}), loop_(loop) {}

    void wake() noexcept {
        loop_.post([turns = std::weak_ptr(turns_)] {
            if (const auto alive = turns.lock()) {
                alive->run_turn();
            }
        });
    }

private:
    std::shared_ptr<tryst::loop_turns> turns_; // a call after the executor's end does nothing
    my_loop& loop_;
};

tryst::task<> show(tryst::exchanger<std::string>& ex, my_loop& loop) {
    using namespace std::chrono_literals;
    std::string question = "what is new?";
    auto answer = co_await ex.exchange(std::move(question), 10s);
    std::cout << *answer << '\n'; // on the thread of my_loop
    loop.quit();
}

void run(my_loop& loop, tryst::loop_executor<my_wake>& executor) {
    const tryst::executor_scope here(executor.executor());
    loop.run();
}

int main() {
    tryst::exchanger<std::string> ex;
    my_loop loop;
    tryst::loop_executor<my_wake> executor(loop);
    executor.spawn(show(ex, loop));
    std::jthread worker([&] { std::cout << *tryst::sync_wait(ex.exchange("nothing")) << '\n'; });
    run(loop, executor);
}
