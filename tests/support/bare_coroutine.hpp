// SPDX-License-Identifier: MIT
/// @file
/// A coroutine without an executor: it starts at once, and the thread that completes its wait
/// resumes it inline.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace tryst::test {

/// Owns its frame; `done` after its last statement.
class bare_coroutine {
public:
    struct promise_type {
        bare_coroutine get_return_object() noexcept {
            return bare_coroutine(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };

    bare_coroutine(bare_coroutine&& other) noexcept
        : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
    bare_coroutine& operator=(bare_coroutine&&) = delete;
    ~bare_coroutine() { destroy(); }

    bool done() const noexcept { return coroutine_.done(); }
    const void* frame() const noexcept { return coroutine_.address(); }

    void destroy() noexcept {
        if (coroutine_) {
            std::exchange(coroutine_, nullptr).destroy();
        }
    }

private:
    explicit bare_coroutine(std::coroutine_handle<promise_type> coroutine) noexcept
        : coroutine_(coroutine) {}

    std::coroutine_handle<promise_type> coroutine_;
};

/// The same, but without an owner: its frame is destroyed after its last statement.
struct detached_coroutine {
    struct promise_type {
        detached_coroutine get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};

} // namespace tryst::test
