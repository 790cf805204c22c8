// SPDX-License-Identifier: MIT
/// @file
/// The least executor that a user might write, and a coroutine that is bound to one.
#pragma once

#include <tryst/executor.hpp>

#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

namespace tryst::test {

/// Has `post`, and nothing else: no timers, nothing can be retracted. It runs its nodes when told.
class queue_executor {
public:
    executor_ref ref() noexcept {
        static constexpr executor_vtable vtable{
            .post = [](void* self, executor_node* node) noexcept {
                static_cast<queue_executor*>(self)->push(node);
            }};
        return {this, &vtable};
    }

    /// Runs one node; waits for it if there is none.
    void run_one() {
        executor_node* node = nullptr;
        {
            std::unique_lock lock(mutex_);
            pushed_.wait(lock, [this] { return !nodes_.empty(); });
            node = nodes_.front();
            nodes_.pop_front();
        }
        node->run(node);
    }

    std::size_t size() {
        const std::scoped_lock lock(mutex_);
        return nodes_.size();
    }

private:
    void push(executor_node* node) {
        const std::scoped_lock lock(mutex_);
        nodes_.push_back(node);
        pushed_.notify_one();
    }

    std::mutex mutex_;
    std::condition_variable pushed_;
    std::deque<executor_node*> nodes_;
};

/// A coroutine whose promise names its executor, which is the coroutine's first argument.
class bound_coroutine {
public:
    struct promise_type {
        template <class... Arguments>
        explicit promise_type(executor_ref mine, Arguments&&...) noexcept : home(mine) {}

        executor_ref executor() const noexcept { return home; }
        bound_coroutine get_return_object() noexcept {
            return bound_coroutine(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }

        executor_ref home;
    };

    bound_coroutine(bound_coroutine&& other) noexcept
        : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
    bound_coroutine& operator=(bound_coroutine&&) = delete;
    ~bound_coroutine() {
        if (coroutine_) {
            coroutine_.destroy();
        }
    }

    bool done() const noexcept { return coroutine_.done(); }

private:
    explicit bound_coroutine(std::coroutine_handle<promise_type> coroutine) noexcept
        : coroutine_(coroutine) {}

    std::coroutine_handle<promise_type> coroutine_;
};

} // namespace tryst::test
