// SPDX-License-Identifier: MIT
// Items that can be made from anything, in operations of Asio.
#include "adapters/asio/net.hpp"
#include "items.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

namespace net = tryst::test::net;
namespace asio = tryst::asio;
using stranger::make;
using stranger::number_of;

template <class T>
class StrangeItemInAsio : public ::testing::Test {
protected:
    void run() {
        io.restart();
        io.poll();
    }
    net::io_context io;
    tryst::exchanger<T> at;
    tryst::synchronous_channel<T> to;
    std::vector<int> numbers;
};
TYPED_TEST_SUITE(StrangeItemInAsio, stranger::few_items);

TYPED_TEST(StrangeItemInAsio, IsPassedToHandlers) {
    const auto store = [this](auto got) {
        if constexpr (requires { *got; }) {
            this->numbers.push_back(got ? number_of(*got) : 0);
        } else {
            this->numbers.push_back(0);
        }
    };
    const auto on_io = [this](auto handler) {
        return net::bind_executor(this->io.get_executor(), std::move(handler));
    };
    asio::async_wait(this->at.exchange(make<TypeParam>(1)), on_io(store));
    asio::async_wait(this->at.exchange(make<TypeParam>(2)), on_io(store));
    asio::async_wait(this->to.receive(), on_io(store));
    asio::async_wait(this->to.send(make<TypeParam>(3)), on_io(store));
    this->run();
    EXPECT_EQ(this->numbers[0] + this->numbers[1] + this->numbers[2] + this->numbers[3], 1 + 2 + 3);
    this->numbers.clear();
    asio::async_wait(tryst::select(this->to.receive(), this->at.exchange(make<TypeParam>(4))),
                     on_io([this](auto got) {
                         this->numbers.push_back(number_of(*std::move(got).template get<0>()));
                     }));
    this->run();
    EXPECT_TRUE(this->to.try_send(make<TypeParam>(5)));
    this->run();
    EXPECT_EQ(this->numbers, std::vector{5});
}

template <class T>
tryst::task<T> returns(T item) {
    T own = std::move(item);
    co_return std::move(own);
}

template <class T>
net::awaitable<void> await(tryst::exchanger<T>& at, tryst::synchronous_channel<T>& to,
                           std::vector<int>& numbers) {
    T mine = make<T>(1);
    auto swapped = co_await asio::async_wait(at.exchange(std::move(mine)), net::use_awaitable);
    numbers.push_back(number_of(*swapped));
    auto swap = at.exchange(make<T>(2));
    auto again = co_await asio::wait(std::move(swap));
    numbers.push_back(number_of(*again));
    auto selection = tryst::select(to.receive(), at.exchange(make<T>(3)));
    auto selected = co_await asio::wait(std::move(selection));
    numbers.push_back(number_of(*std::move(selected).template get<0>()));
    if constexpr (std::is_default_constructible_v<T>) {
        auto work = returns(make<T>(4));
        T result = co_await asio::async_wait(std::move(work), net::use_awaitable);
        numbers.push_back(number_of(result));
    } else {
        numbers.push_back(4);
    }
}

TYPED_TEST(StrangeItemInAsio, IsAwaited) {
    net::co_spawn(this->io, await(this->at, this->to, this->numbers),
                  [](std::exception_ptr failed) { EXPECT_FALSE(failed); });
    this->run();
    EXPECT_TRUE(this->at.try_exchange(make<TypeParam>(5)));
    this->run();
    EXPECT_TRUE(this->at.try_exchange(make<TypeParam>(6)));
    this->run();
    EXPECT_TRUE(this->to.try_send(make<TypeParam>(7)));
    this->run();
    EXPECT_EQ(this->numbers, (std::vector{5, 6, 7, 4}));
}

} // namespace
