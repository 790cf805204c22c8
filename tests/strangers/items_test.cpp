// SPDX-License-Identifier: MIT
// Items that can be made from anything pass through each operation unchanged.
#include "items.hpp"

#include <tryst/tryst.hpp>

#include <array>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

namespace {

using stranger::make;
using stranger::number_of;

template <class T>
class StrangeItem : public ::testing::Test {
protected:
    using swaps = tryst::exchanger<T>;
    using channel = tryst::synchronous_channel<T>;
    using sides = tryst::red_blue_exchanger<T, T>;

    /// Runs until nothing is left to do.
    void run(tryst::task<> work) {
        loop.spawn(std::move(work));
        loop.run_until_idle();
    }
    tryst::run_loop loop;
};
TYPED_TEST_SUITE(StrangeItem, stranger::few_items);

/// Awaits an operation of `make_operation`, and tells the number of the item that it got.
template <class Make>
tryst::task<> await(Make make_operation, int& number) {
    auto operation = make_operation();
    const auto got = co_await operation;
    number = got ? number_of(*got) : number_of(got.returned());
}
template <class Make>
tryst::task<> await_sent(Make make_operation, bool& sent) {
    auto operation = make_operation();
    const auto got = co_await operation;
    sent = got.has_value();
}

TYPED_TEST(StrangeItem, IsExchanged) {
    typename TestFixture::swaps at;
    int first = 0;
    int second = 0;
    this->run(await([&] { return at.exchange(make<TypeParam>(1)); }, first));
    this->run(await([&] { return at.exchange(make<TypeParam>(2)); }, second));
    this->loop.run_until_idle();
    EXPECT_EQ(first, 2);
    EXPECT_EQ(second, 1);
    EXPECT_EQ(number_of(at.try_exchange(make<TypeParam>(3)).returned()), 3);
    tryst::inplace_stop_source stop;
    this->run(await([&] { return at.exchange(make<TypeParam>(4), stop.get_token()); }, first));
    stop.request_stop();
    this->loop.run_until_idle();
    EXPECT_EQ(first, 4);
    at.close();
    EXPECT_EQ(number_of(tryst::sync_wait(at.exchange(make<TypeParam>(5))).returned()), 5);
}

TYPED_TEST(StrangeItem, MeetsTheOtherColour) {
    typename TestFixture::sides at;
    int red = 0;
    this->run(await([&] { return at.red(make<TypeParam>(1)); }, red));
    EXPECT_EQ(number_of(*at.try_blue(make<TypeParam>(2))), 1);
    this->loop.run_until_idle();
    EXPECT_EQ(red, 2);
    EXPECT_EQ(number_of(at.try_red(make<TypeParam>(3)).returned()), 3);
}

TYPED_TEST(StrangeItem, IsSent) {
    typename TestFixture::channel to;
    bool sent = false;
    this->run(await_sent([&] { return to.send(make<TypeParam>(1)); }, sent));
    EXPECT_EQ(number_of(*to.try_receive()), 1);
    this->loop.run_until_idle();
    EXPECT_TRUE(sent);
    EXPECT_EQ(number_of(to.try_send(make<TypeParam>(2)).returned()), 2);
    EXPECT_FALSE(to.try_receive());
}

template <class Swaps, class Channel, class Numbers>
tryst::task<> select_each(Swaps& at, Channel& to, Channel& from, Numbers& numbers) {
    using item = typename Channel::value_type;
    while (true) {
        auto swap = at.exchange(make<item>(1));
        auto send = to.send(make<item>(2));
        auto receive = from.receive();
        auto selection = tryst::select(std::move(receive), std::move(swap), std::move(send));
        auto got = co_await selection;
        auto moved = std::move(got);
        if (moved.index() == 0) {
            if (!moved.template get<0>()) {
                co_return;
            }
            numbers.push_back(number_of(*std::move(moved).template get<0>()));
        } else if (moved.index() == 1) {
            numbers.push_back(number_of(*moved.template get<1>()));
        } else {
            numbers.push_back(number_of(std::move(moved).template get<1>().returned()));
        }
    }
}

TYPED_TEST(StrangeItem, IsSelected) {
    typename TestFixture::swaps at;
    typename TestFixture::channel to;
    typename TestFixture::channel from;
    std::vector<int> numbers;
    this->run(select_each(at, to, from, numbers));
    EXPECT_TRUE(from.try_send(make<TypeParam>(3)));
    this->loop.run_until_idle();
    EXPECT_EQ(number_of(*at.try_exchange(make<TypeParam>(4))), 1);
    this->loop.run_until_idle();
    EXPECT_EQ(number_of(*to.try_receive()), 2);
    this->loop.run_until_idle();
    from.close();
    this->loop.run_until_idle();
    EXPECT_EQ(numbers, (std::vector{3, 4, 1}));
}

TYPED_TEST(StrangeItem, IsVisited) {
    typename TestFixture::channel first;
    typename TestFixture::channel second;
    bool sent = false;
    this->run(await_sent([&] { return second.send(make<TypeParam>(1)); }, sent));
    auto got = tryst::try_select(first.receive(), second.receive());
    ASSERT_EQ(got.index(), 1U);
    const auto number = [](const auto& result) { return number_of(*result); };
    EXPECT_EQ(got.visit(number), 1);
    const auto result = std::move(got).visit(std::identity());
    EXPECT_EQ(number_of(*result), 1);
    typename TestFixture::swaps at;
    auto none = tryst::try_select(at.exchange(make<TypeParam>(2)), first.receive());
    EXPECT_EQ(number_of(std::move(none).template get<0>().returned()), 2);
    std::array<typename TestFixture::channel*, 2> all{&first, &second};
    this->run(await_sent([&] { return first.send(make<TypeParam>(3)); }, sent));
    auto any = tryst::sync_wait(tryst::select_from(all, [](auto* one) { return one->receive(); }));
    ASSERT_TRUE(any);
    EXPECT_EQ(number_of(*any.get()), 3);
}

template <class T>
tryst::task<T> returns(T item) {
    T own = std::move(item);
    co_return std::move(own);
}

template <class T>
tryst::task<> join(tryst::exchanger<T>& at, tryst::run_loop& loop, std::vector<int>& numbers) {
    auto first = at.exchange(make<T>(1));
    auto second = at.exchange(make<T>(2));
    auto both = co_await tryst::when_all(first, second, returns(make<T>(3)));
    numbers.push_back(number_of(*std::get<0>(both)));
    numbers.push_back(number_of(std::get<2>(both)));
    std::vector<tryst::task<T>> work;
    work.push_back(returns(make<T>(4)));
    auto all = co_await tryst::when_all(std::move(work));
    numbers.push_back(number_of(all.at(0)));
    const auto exchanges = [&](auto stop) { return at.exchange(make<T>(5), stop); };
    const auto task_of = [](auto) { return returns(make<T>(6)); };
    auto any = co_await tryst::when_any(exchanges, task_of);
    auto task_result = any.template get<1>();
    numbers.push_back(number_of(task_result));
    auto future = loop.spawn_future(returns(make<T>(7)));
    T joined = co_await future;
    numbers.push_back(number_of(joined));
}

TYPED_TEST(StrangeItem, IsJoined) {
    typename TestFixture::swaps at;
    std::vector<int> numbers;
    this->run(join(at, this->loop, numbers));
    EXPECT_EQ(numbers, (std::vector{2, 3, 4, 6, 7}));
    EXPECT_EQ(number_of(tryst::sync_wait(returns(make<TypeParam>(8)))), 8);
    EXPECT_EQ(number_of(this->loop.run(returns(make<TypeParam>(9)))), 9);
}

template <class T>
class StrangeResult : public ::testing::Test {};
TYPED_TEST_SUITE(StrangeResult, stranger::items);

TYPED_TEST(StrangeResult, MayBeReplaced) {
    using result = tryst::exchange_result<TypeParam>;
    const auto failure = [] { return result(tryst::exchange_errc::closed, make<TypeParam>(1)); };
    const auto success = [] { return result(make<TypeParam>(2)); };
    EXPECT_EQ(number_of(success().value_or(make<TypeParam>(3))), 2);
    EXPECT_EQ(number_of(failure().value_or(make<TypeParam>(3))), 3);
    const tryst::exchange_result<TypeParam, void> without(failure());
    EXPECT_FALSE(without);
    const tryst::exchange_result<TypeParam, void> with(success());
    EXPECT_EQ(number_of(*with), 2);
    result moved = success();
    moved = failure();
    EXPECT_FALSE(moved);
    if constexpr (std::copyable<TypeParam>) {
        const result copied(moved);
        EXPECT_EQ(number_of(copied.returned()), 1);
        const TypeParam item = make<TypeParam>(4);
        EXPECT_EQ(number_of(*result(item)), 4);
    }
}

} // namespace
