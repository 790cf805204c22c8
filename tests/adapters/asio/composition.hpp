// SPDX-License-Identifier: MIT
/// @file
/// Coroutines that compose operations of tryst, and a fixture that runs them.
#pragma once

#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#ifdef TRYST_BOOST_ASIO
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/multiple_exceptions.hpp>
#include <boost/asio/steady_timer.hpp>
#else
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/multiple_exceptions.hpp>
#include <asio/steady_timer.hpp>
#endif

#include <gtest/gtest.h>

#include <exception>
#include <optional>
#include <utility>

namespace tryst::test {

using result = completed<tracked>;

/// Stores the result, because `||` drops that of the slower operation.
template <class Executor = net::any_io_executor>
net::awaitable<void, Executor> keep(exchanger<tracked>& at, tracked mine, result& out) {
    out.emplace(co_await asio::wait<Executor>(at.exchange(std::move(mine))));
}

/// As above, with a completion token.
inline net::awaitable<void> keep_with_a_token(exchanger<tracked>& at, tracked mine, result& out) {
    auto [kept] =
        co_await asio::async_wait(at.exchange(std::move(mine)), as_tuple(net::use_awaitable));
    out.emplace(std::move(kept));
}

/// Runs a coroutine on `io`, and waits for nothing: a test that would hang fails instead.
class composition_test : public ::testing::Test {
protected:
    using exchanger = tryst::exchanger<tracked>;
    using channel = synchronous_channel<tracked>;
    using timer = net::steady_timer;

    tracked item(long id) { return {items, id}; }

    /// `work` and what it refers to must outlive the coroutine.
    template <class Work>
    void start(Work& work) {
        done = false;
        thrown = nullptr;
        net::co_spawn(io, work(),
                      net::bind_cancellation_slot(outside.slot(), [this](std::exception_ptr error) {
                          done = true;
                          thrown = std::move(error);
                      }));
        step(io);
    }
    void expect_success() {
        EXPECT_TRUE(done);
        EXPECT_FALSE(thrown);
        EXPECT_TRUE(io.stopped()) << "an operation is left";
    }
    void expect_error(error_code error) {
        EXPECT_TRUE(done);
        ASSERT_TRUE(thrown);
        try {
            std::rethrow_exception(thrown);
        } catch (const system_error& caught) {
            EXPECT_EQ(caught.code(), error);
        }
        EXPECT_TRUE(io.stopped()) << "an operation is left";
    }

    /// Comes as the partner of the party that brought `own`.
    /// @returns whether it was waiting.
    bool meet(exchanger& at, long theirs, long own) {
        const auto got = at.try_exchange(item(theirs));
        EXPECT_TRUE(!got || got->id() == own);
        return static_cast<bool>(got);
    }
    /// Cancels the coroutine.
    void emit(net::cancellation_type type = net::cancellation_type::terminal) {
        outside.emit(type);
        step(io);
    }

    census items;
    net::cancellation_signal outside;
    net::io_context io;
    exchanger ex{1};
    exchanger other{1};
    timer never{io, timer::time_point::max()};
    result first;
    result second;
    bool done = false;
    std::exception_ptr thrown;
};

} // namespace tryst::test
