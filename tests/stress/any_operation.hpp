// SPDX-License-Identifier: MIT
/// @file
/// An operation of any type, for parties that choose at random what they do.
#pragma once

#include "support/bare_coroutine.hpp"

#include <tryst/task.hpp>

#include <chrono>
#include <coroutine>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace tryst::test {

/// A coroutine awaits it, or a thread calls `wait`.
class any_operation {
public:
    any_operation() = default;
    any_operation(const any_operation&) = delete;
    any_operation& operator=(const any_operation&) = delete;
    virtual ~any_operation() = default;

    virtual bool await_ready() noexcept = 0;
    virtual bool await_suspend(std::coroutine_handle<task<>::promise_type>) noexcept = 0;
    virtual bool
        await_suspend(std::coroutine_handle<detached_coroutine::promise_type>) noexcept = 0;
    virtual void await_resume() = 0;
    virtual void wait(detail::location where = detail::location::current()) = 0;
};

/// @tparam End  called with the result.
template <class Operation, class End>
class operation_of final : public any_operation {
public:
    template <class Make>
    operation_of(Make make, End end) : operation_(make()), end_(std::move(end)) {}

    bool await_ready() noexcept override { return operation_.await_ready(); }
    bool await_suspend(std::coroutine_handle<task<>::promise_type> party) noexcept override {
        return operation_.await_suspend(party);
    }
    bool
    await_suspend(std::coroutine_handle<detached_coroutine::promise_type> party) noexcept override {
        return operation_.await_suspend(party);
    }
    void await_resume() override { end_(operation_.await_resume()); }
    void wait(detail::location where) override { end_(operation_.wait(where)); }

private:
    Operation operation_;
    End end_;
};

/// What a wait is limited by.
struct wait_limits {
    std::optional<std::chrono::microseconds> patience{};
    std::optional<std::stop_token> stop{};
};

/// The operation that `make` returns if it is called with what `limits` contains.
template <class Make, class End>
std::unique_ptr<any_operation> make_operation(const wait_limits& limits, Make make, End end) {
    const auto with = [&](const auto&... limit) -> std::unique_ptr<any_operation> {
        const auto made = [&] { return make(limit...); };
        return std::make_unique<operation_of<decltype(made()), End>>(made, end);
    };
    if (limits.patience) {
        return limits.stop ? with(*limits.patience, *limits.stop) : with(*limits.patience);
    }
    return limits.stop ? with(*limits.stop) : with();
}

} // namespace tryst::test
