// SPDX-License-Identifier: MIT
// The adapter for senders with types of a namespace whose functions have the names of the
// library's.
#include "items.hpp"
#include "stranger.hpp"

#include <tryst/execution.hpp>

#include <stdexec/execution.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <optional>
#include <utility>

namespace stranger {

namespace ex = stdexec;

struct env {
    stop_token query(ex::get_stop_token_t) const noexcept { return stop; }
    stop_token stop;
};

template <class T>
struct receiver {
    using receiver_concept = ex::receiver_t;
    void set_value(T value) && noexcept { got->emplace(std::move(value)); }
    void set_error(std::exception_ptr) && noexcept {}
    void set_stopped() && noexcept { *stopped = true; }
    env get_env() const noexcept { return {stop}; }

    std::optional<T>* got;
    bool* stopped;
    stop_token stop;
};

} // namespace stranger

namespace {

using stranger::item;
using tryst::as_sender;
namespace ex = stdexec;

/// Starts a sender of a `T`, and looks at what it completes with.
template <class T, class Sender>
class started {
public:
    explicit started(Sender sender)
        : state_(ex::connect(std::move(sender), stranger::receiver<T>{std::addressof(got),
                                                                      std::addressof(stopped),
                                                                      {source.get_token()}})) {
        ex::start(state_);
    }
    tryst::inplace_stop_source source;
    std::optional<T> got;
    bool stopped = false;

private:
    ex::connect_result_t<Sender, stranger::receiver<T>> state_;
};

template <class T, class Sender>
auto start(Sender sender) {
    return started<T, Sender>(std::move(sender));
}

tryst::task<item> returns(int number) {
    const item result(number);
    co_return result;
}

TEST(StrangerInSenders, Exchanges) {
    using result = tryst::exchange_result<item>;
    tryst::exchanger<item> at;
    auto first = start<result>(as_sender(at.exchange(item{1})));
    auto second = start<result>(as_sender(at.exchange(item{2}, stranger::stop_token{})));
    ASSERT_TRUE(first.got && *first.got && second.got && *second.got);
    EXPECT_EQ((*first.got)->number, 2);
    auto third =
        start<result>(as_sender(at.exchange(item{3})) | tryst::execution::stopped_if_cancelled);
    third.source.request_stop();
    EXPECT_TRUE(third.stopped);
    auto worked = start<item>(as_sender(returns(4)));
    ASSERT_TRUE(worked.got);
    EXPECT_EQ(worked.got->number, 4);
}

TEST(StrangerInSenders, Selects) {
    tryst::exchanger<item> at;
    tryst::synchronous_channel<item> to;
    auto make = [&] { return tryst::select(to.receive(), at.exchange(item{1})); };
    using result = decltype(make().wait());
    auto selected = start<result>(as_sender(make()));
    EXPECT_TRUE(to.try_send(item{2}));
    ASSERT_TRUE(selected.got);
    EXPECT_EQ(selected.got->index(), 0U);
}

template <class T>
class StrangeItemInSenders : public ::testing::Test {};
TYPED_TEST_SUITE(StrangeItemInSenders, stranger::few_items);

template <class T>
tryst::task<T> returns_item(T item) {
    T own = std::move(item);
    co_return std::move(own);
}

TYPED_TEST(StrangeItemInSenders, IsExchangedAndSelected) {
    using stranger::make;
    using stranger::number_of;
    using result = tryst::exchange_result<TypeParam>;
    tryst::exchanger<TypeParam> at;
    tryst::synchronous_channel<TypeParam> to;
    auto first = start<result>(as_sender(at.exchange(make<TypeParam>(1))));
    auto second = start<result>(as_sender(at.exchange(make<TypeParam>(2))));
    ASSERT_TRUE(first.got && *first.got && second.got && *second.got);
    EXPECT_EQ(number_of(**first.got), 2);
    EXPECT_EQ(number_of(**second.got), 1);
    auto select = [&] { return tryst::select(to.receive(), at.exchange(make<TypeParam>(3))); };
    auto selected = start<decltype(select().wait())>(as_sender(select()));
    EXPECT_TRUE(to.try_send(make<TypeParam>(4)));
    ASSERT_TRUE(selected.got);
    EXPECT_EQ(number_of(*std::move(*selected.got).template get<0>()), 4);
    auto worked = start<TypeParam>(as_sender(returns_item(make<TypeParam>(5))));
    ASSERT_TRUE(worked.got);
    EXPECT_EQ(number_of(*worked.got), 5);
}

TEST(StrangerInSenders, AreAwaited) {
    const auto work = []() -> tryst::task<int> {
        const item got = co_await tryst::execution::as_awaitable(ex::just(item(5)));
        co_return got.number;
    };
    EXPECT_EQ(tryst::sync_wait(work()), 5);
}

} // namespace
