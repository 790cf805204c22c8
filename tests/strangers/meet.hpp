// SPDX-License-Identifier: MIT
/// @file
/// A task in which strangers meet on an executor.
#pragma once

#include "stranger.hpp"

#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <coroutine>
#include <tuple>

namespace stranger {

struct awaitable {
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<>) const noexcept { return false; }
    item await_resume() const noexcept { return item(7); }
};

template <class Executor>
tryst::task<> meet(Executor& on) {
    using namespace std::chrono_literals;
    tryst::exchanger<item> at;
    auto first = at.exchange(item(1), 1h, stop_token{});
    auto second = at.exchange(item(2));
    const auto both = co_await tryst::when_all(first, second);
    EXPECT_EQ(std::get<0>(both)->number, 2);
    auto work = on.spawn_future(awaitable());
    const item joined = co_await work;
    EXPECT_EQ(joined.number, 7);
    const auto late = co_await at.exchange(item(3), 1ms);
    EXPECT_EQ(late.error(), tryst::exchange_errc::timed_out);
    const stop_token none{};
    co_await tryst::sleep_for(1ms, none);
}

} // namespace stranger
