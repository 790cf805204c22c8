// SPDX-License-Identifier: MIT
// Exchanges in stackful coroutines. A program of its own, because they need Boost.Coroutine or
// Boost.Context.
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
#include <utility>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::asio::async_wait;
using tryst::test::step;
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

using result = tryst::exchange_result<int>;

#if defined(TRYST_BOOST_ASIO) || ASIO_VERSION >= 102400
result swap(exchanger& ex, int mine, net::yield_context yield, auto... limit) {
    return async_wait(ex.exchange(mine, limit...), yield);
}
#else // a result must be default constructible, so the handler stores it
result swap(exchanger& ex, int mine, net::yield_context yield, auto... limit) {
    std::optional<result> got;
    const auto initiate = [&](auto handler) {
        const auto executor = net::get_associated_executor(handler);
        async_wait(
            ex.exchange(mine, limit...),
            net::bind_executor(executor, [&got, handler = std::move(handler)](result end) mutable {
                got.emplace(std::move(end));
                std::move(handler)();
            }));
    };
    net::async_initiate<net::yield_context, void()>(initiate, yield);
    return *std::move(got);
}
#endif

TEST(AsioSpawn, GivesThePartnersItem) {
    net::io_context io;
    exchanger ex;
    std::optional<result> got;
    spawn(io, [&](net::yield_context yield) { got = swap(ex, 1, yield); });
    step(io);
    ASSERT_TRUE(waits_in_list(ex));
    EXPECT_EQ(*ex.try_exchange(2), 1);
    step(io);
    EXPECT_EQ(got, result(2));
}

TEST(AsioSpawn, KeepsTheItemOfAFailedExchange) {
    net::io_context io;
    exchanger ex;
    std::optional<result> late;
    std::optional<result> closed;
    spawn(io, [&](net::yield_context yield) {
        late = swap(ex, 1, yield, 0s);
        closed = swap(ex, 2, yield);
    });
    step(io);
    ex.close();
    step(io);
    EXPECT_EQ(late, result(exchange_errc::timed_out, 1));
    EXPECT_EQ(closed, result(exchange_errc::closed, 2));
}

TEST(AsioSpawn, SwapsTheItemsOfTwoStackfulCoroutines) {
    net::io_context io;
    exchanger ex;
    constexpr int rounds = 1'000;
    int met = 0;
    const auto party = [&](net::yield_context yield) {
        for (int i = 0; i != rounds; ++i) {
            met += swap(ex, i, yield) == i ? 1 : 0;
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
            static_cast<void>(swap(ex, 1, yield));
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
        const auto got = async_wait(tryst::select(ex.exchange(1), channel.receive()), yield);
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
