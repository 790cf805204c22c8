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
using tryst::test::error_code;

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
TYPED_TEST_SUITE(StrangeItemInAsio, stranger::items);

TYPED_TEST(StrangeItemInAsio, IsPassedToHandlers) {
    const auto store = [this](error_code, TypeParam item) {
        this->numbers.push_back(number_of(item));
    };
    const auto store_received = [this](error_code, std::optional<TypeParam> item) {
        this->numbers.push_back(item ? number_of(*item) : 0);
    };
    const auto on = this->io.get_executor();
    asio::async_exchange(on, this->at, make<TypeParam>(1), store);
    asio::async_exchange(on, this->at, make<TypeParam>(2), store);
    asio::async_receive(on, this->to, store_received);
    asio::async_send(on, this->to, make<TypeParam>(3), store_received);
    this->run();
    EXPECT_EQ(this->numbers[0] + this->numbers[1] + this->numbers[2] + this->numbers[3], 1 + 2 + 3);
    this->numbers.clear();
    asio::async_select(
        on,
        [this] { return tryst::select(this->to.receive(), this->at.exchange(make<TypeParam>(4))); },
        [this](auto got) {
            this->numbers.push_back(number_of(*std::move(got).template get<0>()));
        });
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
    T swapped = co_await asio::async_exchange(at, std::move(mine), net::use_awaitable);
    numbers.push_back(number_of(swapped));
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
