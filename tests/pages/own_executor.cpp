// SPDX-License-Identifier: MIT
// The executor that docs/waiters.md writes: a queue of work that a pool of threads serves.
#include <tryst/tryst.hpp>

#include <condition_variable>
#include <coroutine>
#include <exception>
#include <iostream>
#include <latch>
#include <mutex>
#include <thread>
#include <utility>

/// Work that any number of threads run, first in, first out.
class work_queue {
public:
    tryst::executor_ref executor() noexcept { return {this, &operations}; }

    void run() { // on each thread of the pool
        const tryst::executor_scope here(executor()); // where its awaiter resumes
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [this] { return first_ != nullptr || stopped_; });
            if (first_ == nullptr) {
                return;
            }
            tryst::executor_node* node = first_;
            first_ = node->next; // read before it runs: a node may end its own life
            lock.unlock();
            node->run(node);
            lock.lock();
        }
    }

    void stop() { // the threads return when the queue is empty
        const std::scoped_lock lock(mutex_);
        stopped_ = true;
        changed_.notify_all();
    }

private:
    static void post(void* self, tryst::executor_node* node) noexcept {
        auto& queue = *static_cast<work_queue*>(self);
        const std::scoped_lock lock(queue.mutex_);
        node->next = nullptr;
        (queue.first_ == nullptr ? queue.first_ : queue.last_->next) = node;
        queue.last_ = node;
        queue.changed_.notify_one();
    }

    static constexpr tryst::executor_vtable operations{.post = post};

    std::mutex mutex_;
    std::condition_variable changed_;
    tryst::executor_node* first_ = nullptr;
    tryst::executor_node* last_ = nullptr; // unless the queue is empty
    bool stopped_ = false;
};

/// A coroutine that starts in the queue which is its first argument.
struct job {
    struct promise_type {
        template <class... Arguments>
        explicit promise_type(work_queue& queue, Arguments&&...) noexcept
            : home(queue.executor()) {}

        job get_return_object() noexcept { return {}; }
        auto initial_suspend() noexcept { return home.schedule(); }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }

        tryst::executor_ref executor() const noexcept { return home; } // where it is resumed
        tryst::executor_ref home;
    };
};

tryst::task<int> meet(tryst::exchanger<int>& ex, int mine) {
    auto got = co_await ex.exchange(mine);
    co_return *got; // on a thread of the pool
}

job meet(work_queue&, tryst::exchanger<int>& ex, int mine, int& theirs, std::latch& done) {
    theirs = co_await meet(ex, mine);
    done.count_down();
}

int main() {
    work_queue queue;
    tryst::exchanger<int> ex;
    std::latch done(2);
    int a = 0;
    int b = 0;

    std::jthread first([&] { queue.run(); });
    std::jthread second([&] { queue.run(); });
    meet(queue, ex, 1, a, done);
    meet(queue, ex, 2, b, done);
    done.wait();
    queue.stop();
    std::cout << a << ' ' << b << '\n'; // 2 1
}
