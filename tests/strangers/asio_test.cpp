// SPDX-License-Identifier: MIT
// Asio's adapter with types of a namespace whose functions have the names of the library's.
#include "adapters/asio/net.hpp"
#include "stranger.hpp"

#include <tryst/asio.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace stranger {

namespace net = tryst::test::net;

template <class T>
struct allocator {
    using value_type = T;
    explicit allocator(int& n) noexcept : count(std::addressof(n)) {}
    template <class U>
    allocator(const allocator<U>& other) noexcept : count(other.count) {}
    T* allocate(std::size_t n) {
        ++*count;
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T* at, std::size_t n) noexcept { std::allocator<T>().deallocate(at, n); }
    template <class U>
    bool operator==(const allocator<U>& other) const noexcept {
        return count == other.count;
    }
    int* count;
};

/// An I/O executor: that of a context, as a type of its own.
struct io_executor {
    net::execution_context& query(net::execution::context_t) const noexcept {
        return inner.context();
    }
    static constexpr net::execution::blocking_t query(net::execution::blocking_t) noexcept {
        return net::execution::blocking.never;
    }
    template <class Function>
    void execute(Function function) const {
        net::post(inner, std::move(function));
    }
    bool operator==(const io_executor&) const noexcept = default;

    net::io_context::executor_type inner;
};

/// A completion handler with an executor and an allocator of its own.
struct handler {
    using executor_type = io_executor;
    using allocator_type = allocator<void>;
    executor_type get_executor() const noexcept { return on; }
    allocator_type get_allocator() const noexcept { return allocator_type(*allocations); }
    template <class... Results>
    void operator()(Results&&...) const {
        ++*calls;
    }
    io_executor on;
    int* allocations;
    int* calls;
};

/// Returns a task, for `async_wait`.
struct work {
    tryst::task<item> operator()(std::stop_token stop) const {
        const auto got = co_await at->exchange(item{5}, stop);
        co_return got ? *got : item{0};
    }
    tryst::exchanger<item>* at;
};

} // namespace stranger

namespace {

using namespace std::chrono_literals;
using stranger::item;
namespace net = tryst::test::net;
namespace asio = tryst::asio;

class StrangerInAsio : public ::testing::Test {
protected:
    stranger::handler handler() {
        return {{io.get_executor()}, std::addressof(allocations), std::addressof(calls)};
    }
    /// Runs all that is ready. So many handlers were called meanwhile.
    void expect_calls(int count) {
        io.restart();
        io.run();
        EXPECT_EQ(calls, count);
        EXPECT_GT(allocations, 0);
        calls = 0;
        allocations = 0;
    }

    net::io_context io;
    int allocations = 0;
    int calls = 0;
    tryst::exchanger<item> at;
};

TEST_F(StrangerInAsio, Exchanges) {
    asio::async_wait(at.exchange(item{1}), handler());
    asio::async_wait(at.exchange(item{2}),
                     net::bind_executor(stranger::io_executor{io.get_executor()}, handler()));
    expect_calls(2);
    asio::async_wait(at.exchange(item{3}, 1ms), handler());
    expect_calls(1);
    asio::async_wait(at.exchange(item{4}, std::chrono::steady_clock::now()), handler());
    expect_calls(1);
}

TEST_F(StrangerInAsio, SendsAndReceives) {
    tryst::synchronous_channel<item> to;
    asio::async_wait(to.receive(), handler());
    asio::async_wait(to.send(item{1}), handler());
    expect_calls(2);
    asio::async_wait(to.receive(1ms), handler());
    expect_calls(1);
    tryst::red_blue_exchanger<item, int> sides;
    asio::async_wait(sides.red(item{1}), handler());
    asio::async_wait(sides.blue(2), handler());
    expect_calls(2);
}

TEST_F(StrangerInAsio, IsCancelled) {
    net::cancellation_signal signal;
    asio::async_wait(at.exchange(item{1}), net::bind_cancellation_slot(signal.slot(), handler()));
    io.poll();
    signal.emit(net::cancellation_type::terminal);
    expect_calls(1);
    std::stop_source stop;
    asio::async_wait(at.exchange(item{1}), asio::bind_stop_token(stop.get_token(), handler()));
    io.poll();
    stop.request_stop();
    expect_calls(1);
    asio::async_wait(at.exchange(item{1}), handler());
    io.poll();
    at.close();
    expect_calls(1);
}

TEST_F(StrangerInAsio, IsDestroyedWithItsContext) {
    asio::async_wait(at.exchange(item{1}, 1h), handler());
    io.poll();
}

TEST_F(StrangerInAsio, Selects) {
    tryst::synchronous_channel<item> to;
    asio::async_wait(tryst::select(to.receive(), at.exchange(item{1})), handler());
    io.poll();
    EXPECT_TRUE(to.try_send(item{2}));
    expect_calls(1);
    auto selection = tryst::select_biased(to.receive(), at.exchange(item{1}), 1h);
    asio::async_wait(std::move(selection),
                     net::bind_executor(stranger::io_executor{io.get_executor()}, handler()));
    io.poll();
    EXPECT_TRUE(at.try_exchange(item{3}));
    expect_calls(1);
}

TEST_F(StrangerInAsio, WaitsForTasks) {
    const auto returns = []() -> tryst::task<std::optional<item>> {
        const std::optional<item> result(item{4});
        co_return result;
    };
    asio::async_wait(returns(), handler());
    expect_calls(1);
    stranger::work work{std::addressof(at)};
    asio::async_wait(work, handler());
    asio::async_wait(work, handler());
    expect_calls(2);
    asio::task_executor<stranger::io_executor> on(stranger::io_executor{io.get_executor()});
    on.spawn([](tryst::exchanger<item>& with) -> tryst::task<> {
        const auto got = co_await with.exchange(item{6});
        EXPECT_TRUE(got);
    }(at));
    auto handle = on.spawn_future(work({}));
    io.restart();
    io.run();
}

/// Awaits each operation in an `awaitable`, of which there are two.
net::awaitable<void> awaits(tryst::exchanger<item>& with, int& count) {
    const auto got = co_await asio::wait(with.exchange(item(1)));
    count += got ? got->number : 0;
    item mine{1};
    const auto again =
        co_await asio::async_wait(with.exchange(std::move(mine)), net::use_awaitable);
    count += again ? again->number : 0;
    const auto selected = co_await asio::wait(tryst::select(with.exchange(item(1))));
    count += selected.index() == 0 ? 1 : 0;
    const auto chosen =
        co_await asio::async_wait(tryst::select(with.exchange(item(1))), net::use_awaitable);
    count += chosen.index() == 0 ? 1 : 0;
    stranger::work work{std::addressof(with)};
    const item worked = co_await asio::async_wait(std::move(work), net::use_awaitable);
    count += worked.number;
}

TEST_F(StrangerInAsio, Awaits) {
    int count = 0;
    net::co_spawn(io, awaits(at, count), net::detached);
    net::co_spawn(io, awaits(at, count), net::detached);
    io.run();
    EXPECT_EQ(count, 2 * (1 + 1 + 1 + 1 + 5));
}

} // namespace
