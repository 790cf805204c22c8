// SPDX-License-Identifier: MIT
/// @file
/// A namespace with a function of each name that the library uses. The functions take everything
/// and are deleted, so a call that finds them by its arguments does not compile.
#pragma once

#include <tryst/tryst.hpp>

#include <chrono>
#include <coroutine>
#include <exception>
#include <utility>

namespace stranger {

// Overloads for each number of parameters: a pack would lose against a template without one.
#define TRYST_TEST_NAME(name)                                                                      \
    template <class A>                                                                             \
    void name(A&&) = delete;                                                                       \
    template <class A, class B>                                                                    \
    void name(A&&, B&&) = delete;                                                                  \
    template <class A, class B, class C>                                                           \
    void name(A&&, B&&, C&&) = delete;                                                             \
    template <class A, class B, class C, class D>                                                  \
    void name(A&&, B&&, C&&, D&&) = delete;                                                        \
    template <class... A>                                                                          \
    void name(A&&...) = delete;
#include "function_names.inc"
#undef TRYST_TEST_NAME

struct item {
    explicit item(int n = 0) noexcept : number(n) {}
    int number;
};

/// A stop token of a type of its own.
struct stop_token {
    template <class Callback>
    struct callback_type : tryst::inplace_stop_callback<Callback> {
        callback_type(stop_token token, Callback callback)
            : tryst::inplace_stop_callback<Callback>(token.own, std::move(callback)) {}
    };
    bool stop_requested() const noexcept { return own.stop_requested(); }
    bool stop_possible() const noexcept { return own.stop_possible(); }
    bool operator==(const stop_token&) const noexcept = default;

    tryst::inplace_stop_token own;
};

/// Starts at once, and is not an awaitable. A wait in it adopts the executor that runs it.
struct coroutine {
    struct promise_type {
        coroutine get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};

} // namespace stranger
