// SPDX-License-Identifier: MIT
// All kinds of executors: type-erased, of the Networking TS, and one that runs a function before
// `execute` returns.
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/bare_coroutine.hpp"
#include "support/insides.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#ifdef TRYST_BOOST_ASIO
#include <boost/asio/executor.hpp>
#include <boost/asio/io_context_strand.hpp>
#else
#include <asio/executor.hpp>
#include <asio/io_context_strand.hpp>
#endif

#include <gtest/gtest.h>

#include <thread>
#include <utility>

namespace {

using tryst::asio::async_wait;
using tryst::test::completed;
using tryst::test::expect_got;
using tryst::test::keep_in;
using tryst::test::step;
namespace net = tryst::test::net;
using exchanger = tryst::exchanger<int>;

template <class Executor>
void exchange_on(net::io_context& io, const Executor& executor) {
    exchanger ex;
    completed<int> own;
    async_wait(ex.exchange(1), net::bind_executor(executor, keep_in(own)));
    step(io);
    EXPECT_FALSE(io.stopped()) << "no outstanding work";
    EXPECT_EQ(*ex.try_exchange(2), 1);
    step(io);
    expect_got(own, 2);
    EXPECT_TRUE(io.stopped());
}

/// Ends a context while an operation waits on one of its executors.
template <class Make>
void exchange_to_the_end(Make make) {
    exchanger ex;
    {
        net::io_context io;
        const auto executor = make(io);
        exchange_on(io, executor);
        completed<int> lost;
        async_wait(ex.exchange(1), net::bind_executor(executor, keep_in(lost)));
        ASSERT_TRUE(tryst::test::waits_in_list(ex));
    }
    EXPECT_FALSE(tryst::test::waits_in_list(ex));
}

TEST(AsioExecutor, MayBeTypeErasedOrOneOfTheNetworkingTs) {
    exchange_to_the_end([](auto& io) { return net::any_io_executor(io.get_executor()); });
    exchange_to_the_end([](auto& io) { return net::any_io_executor(net::make_strand(io)); });
    exchange_to_the_end([](auto& io) { return net::executor(io.get_executor()); });
    exchange_to_the_end([](auto& io) { return net::io_context::strand(io); });
}

TEST(AsioExecutor, OfTheNetworkingTsMayRunTasks) {
    net::io_context io;
    net::io_context::strand strand(io);
    tryst::asio::task_executor on_strand(strand);
    tryst::asio::task_executor erased(net::executor(io.get_executor()));
    exchanger ex;
    int sum = 0;
    const auto party = [](exchanger& room, int mine, int& got) -> tryst::task<> {
        const auto theirs = co_await room.exchange(mine);
        got += *theirs;
    };
    on_strand.spawn(party(ex, 1, sum));
    erased.spawn(party(ex, 2, sum));
    io.run();
    EXPECT_EQ(sum, 3);
}

/// An executor that runs a function on another thread before `execute` returns.
class instant_executor {
public:
    explicit instant_executor(net::execution_context& context) noexcept : context_(&context) {}

    net::execution_context& query(net::execution::context_t) const noexcept { return *context_; }
    static constexpr net::execution::blocking_t query(net::execution::blocking_t) noexcept {
        return net::execution::blocking_t::never_t();
    }
    instant_executor require(net::execution::blocking_t::never_t) const noexcept { return *this; }

    template <class Function>
    void execute(Function function) const {
        std::thread([&] { std::move(function)(); }).join();
    }

    bool operator==(const instant_executor&) const noexcept = default;

private:
    net::execution_context* context_;
};
static_assert(net::execution::is_executor<instant_executor>::value);

tryst::test::bare_coroutine exchange_twice(tryst::exchanger<int>& first,
                                           tryst::exchanger<int>& second) {
    EXPECT_TRUE(co_await first.exchange(1));
    EXPECT_TRUE(co_await second.exchange(2));
}

TEST(AsioExecutor, IsNotInheritedByABareCoroutineThatIsResumedThere) {
    net::io_context io;
    tryst::exchanger<int> first;
    tryst::exchanger<int> second;
    const auto bare = exchange_twice(first, second);
    tryst::asio::async_wait(first.exchange(3), net::bind_executor(io, [](const auto&) {}));
    io.run(); // its operation is gone, and the coroutine waits
    EXPECT_TRUE(second.try_exchange(4));
    EXPECT_TRUE(bare.done());
}

TEST(AsioExecutor, MayRunAHandlerBeforeThePartnersCallReturns) {
    net::io_context io;
    exchanger ex;
    completed<int> got;
    async_wait(ex.exchange(1), net::bind_executor(instant_executor(io), keep_in(got)));
    EXPECT_EQ(*ex.try_exchange(2), 1);
    expect_got(got, 2);
}

} // namespace
