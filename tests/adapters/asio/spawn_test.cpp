// SPDX-License-Identifier: MIT Exchanges in stackful coroutines. A program of its own, because they
// need Boost.Coroutine or Boost.Context.
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/insides.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#ifdef TRYST_BOOST_ASIO
#include <boost/asio/spawn.hpp>
#else
#include <asio/spawn.hpp>
#endif

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <optional>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::asio::async_exchange;
using tryst::asio::async_exchange_for;
using tryst::test::error_code;
using tryst::test::step;
using tryst::test::system_error;
using tryst::test::waits_in_list;
namespace net = tryst::test::net;
using exchanger = tryst::exchanger<int>;

template <class Function>
void spawn(net::io_context& io, Function function) {
#if defined(TRYST_BOOST_ASIO) || ASIO_VERSION >= 102400
    net::spawn(io, function, [](std::exception_ptr error) {
        if (error) {
            std::rethrow_exception(error);
        }
    });
#else
    net::spawn(io, function);
#endif
}

TEST(AsioSpawn, GivesThePartnersItem) {
    net::io_context io;
    exchanger ex;
    std::optional<int> got;
    spawn(io, [&](net::yield_context yield) { got = async_exchange(ex, 1, yield); });
    step(io);
    ASSERT_TRUE(waits_in_list(ex));
    EXPECT_EQ(*ex.try_exchange(2), 1);
    step(io);
    EXPECT_EQ(got, 2);
}

TEST(AsioSpawn, ThrowsTheError) {
    net::io_context io;
    exchanger ex;
    std::optional<error_code> thrown;
    spawn(io, [&](net::yield_context yield) {
        try {
            async_exchange_for(ex, 1, 0s, yield);
        } catch (const system_error& error) {
            thrown = error.code();
        }
    });
    step(io);
    EXPECT_EQ(thrown, make_error_code(exchange_errc::timed_out));
}

TEST(AsioSpawn, KeepsTheItemOfAFailedExchangeBesideItsError) {
    net::io_context io;
    exchanger ex;
    error_code error;
    std::optional<int> got;
    spawn(io, [&](net::yield_context yield) { got = async_exchange(ex, 1, yield[error]); });
    step(io);
    ex.close();
    step(io);
    EXPECT_EQ(error, make_error_code(exchange_errc::closed));
    EXPECT_EQ(got, 1);
}

TEST(AsioSpawn, SwapsTheItemsOfTwoStackfulCoroutines) {
    net::io_context io;
    exchanger ex;
    constexpr int rounds = 1'000;
    int met = 0;
    const auto party = [&](net::yield_context yield) {
        for (int i = 0; i != rounds; ++i) {
            met += async_exchange(ex, i, yield) == i ? 1 : 0;
        }
    };
    spawn(io, party);
    spawn(io, party);
    io.run();
    EXPECT_EQ(met, 2 * rounds);
}

TEST(AsioSpawn, IsUnwoundWithItsContext) {
    exchanger ex;
    bool unwound = false;
    {
        net::io_context io;
        spawn(io, [&](net::yield_context yield) {
            struct last {
                bool* said;
                ~last() { *said = true; }
            };
            const last word{&unwound};
            static_cast<void>(async_exchange(ex, 1, yield));
            ADD_FAILURE() << "went on";
        });
        io.poll();
        EXPECT_TRUE(waits_in_list(ex));
    }
    EXPECT_TRUE(unwound);
    EXPECT_FALSE(waits_in_list(ex));
}

#if defined(TRYST_BOOST_ASIO) || ASIO_VERSION >= 102400 // earlier ones need a default result

TEST(AsioSpawn, ReturnsTheResultOfASelection) {
    net::io_context io;
    exchanger ex;
    tryst::synchronous_channel<int> channel;
    bool ended = false;
    spawn(io, [&](net::yield_context yield) {
        const auto make = [&] { return tryst::select(ex.exchange(1), channel.receive()); };
        const auto got = tryst::asio::async_select(make, yield);
        EXPECT_EQ(got.index(), 1U);
        EXPECT_EQ(*got.get<1>(), 2);
        EXPECT_EQ(got.get<0>().returned(), 1);
        ended = true;
    });
    step(io);
    EXPECT_TRUE(channel.try_send(2));
    step(io);
    EXPECT_TRUE(ended);
}

#endif

} // namespace
