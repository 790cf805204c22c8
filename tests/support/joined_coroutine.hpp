// SPDX-License-Identifier: MIT
/// @file
/// A bare coroutine that may end on another thread than the one that waits for its end.
#pragma once

#include <atomic>
#include <coroutine>
#include <exception>
#include <thread>
#include <utility>

namespace tryst::test {

/// Starts at once; its frame lives until it has ended, for which `join` and the destructor wait.
class joined_coroutine {
public:
    struct promise_type {
        struct finish {
            bool await_ready() const noexcept { return false; }
            void await_suspend(std::coroutine_handle<promise_type> self) const noexcept {
                self.promise().ended.store(true, std::memory_order_release);
            }
            void await_resume() const noexcept {}
        };

        joined_coroutine get_return_object() noexcept {
            return joined_coroutine(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_never initial_suspend() noexcept { return {}; }
        finish final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }

        std::atomic<bool> ended{false};
    };

    joined_coroutine(joined_coroutine&& other) noexcept
        : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
    joined_coroutine& operator=(joined_coroutine&&) = delete;
    ~joined_coroutine() {
        if (coroutine_) {
            join();
            coroutine_.destroy();
        }
    }

    bool ended() const noexcept {
        return coroutine_.promise().ended.load(std::memory_order_acquire);
    }

    /// Instead of waiting for its end. Precondition: no other thread can be resuming it.
    void destroy() noexcept { std::exchange(coroutine_, nullptr).destroy(); }

    void join() const noexcept {
        while (!ended()) {
            std::this_thread::yield();
        }
    }

private:
    explicit joined_coroutine(std::coroutine_handle<promise_type> coroutine) noexcept
        : coroutine_(coroutine) {}

    std::coroutine_handle<promise_type> coroutine_;
};

} // namespace tryst::test
