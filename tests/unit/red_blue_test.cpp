// SPDX-License-Identifier: MIT
// Two colours, and channels, whose receivers are a colour that brings nothing.
#include <tryst/red_blue_exchanger.hpp>

#include <tryst/synchronous_channel.hpp>

#include "support/bare_coroutine.hpp"
#include "support/manual_clock.hpp"
#include "support/tracked.hpp"

#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::order;
using tryst::run_loop;
using tryst::sync_wait;
using tryst::task;
using tryst::test::bare_coroutine;
using tryst::test::census;
using tryst::test::tracked;

template <order Order>
struct in_order {
    static constexpr order value = Order;
};

/// All orders: what is said of one is true of the others, but for the order.
template <class Order>
class RedBlue : public testing::Test {
protected:
    using meeting = tryst::red_blue_exchanger<tracked, tracked, Order::value>;
    using channel = tryst::synchronous_channel<tracked, Order::value>;
    using result = tryst::exchange_result<tracked>;

    tracked item(long id) { return {items_, id}; }

    /// A red party on the loop; what it got is in `got(id)`.
    void red(long id, std::stop_token stop = {}) {
        loop_.spawn(wait(meeting_, item(id), std::move(stop), true, got_[id]));
        loop_.run_until_idle();
    }
    void blue(long id, std::stop_token stop = {}) {
        loop_.spawn(wait(meeting_, item(id), std::move(stop), false, got_[id]));
        loop_.run_until_idle();
    }

    const std::optional<result>& got(long id) const { return got_.at(id); }
    /// Whose item `id` got; -1 if it still waits, -2 if it failed.
    long partner_of(long id) const {
        const auto& end = got(id);
        return !end ? -1 : end->has_value() ? (**end).id() : -2;
    }
    exchange_errc error_of(long id) const {
        return static_cast<exchange_errc>(got(id)->error().value());
    }

    /// The number of the one that is served as the n-th of `count` that wait.
    static long served(long n, long count) {
        return Order::value == order::lifo ? count - 1 - n : n;
    }

    static task<> wait(meeting& at, tracked mine, std::stop_token stop, bool is_red,
                       std::optional<result>& end) {
        if (is_red) {
            end.emplace(co_await at.red(std::move(mine), std::move(stop)));
        } else {
            end.emplace(co_await at.blue(std::move(mine), std::move(stop)));
        }
    }

    /// After all that may hold items.
    struct at_the_end {
        ~at_the_end() { EXPECT_EQ(items.alive, 0); }
        census& items;
    };

    census items_;
    at_the_end nobody_keeps_an_item_{items_};
    std::map<long, std::optional<result>> got_;
    meeting meeting_;
    run_loop loop_;
};

using orders = testing::Types<in_order<order::fifo>, in_order<order::lifo>>;

struct order_names {
    template <class Order>
    static std::string GetName(int /*index*/) {
        return Order::value == order::fifo ? "fifo" : "lifo";
    }
};
TYPED_TEST_SUITE(RedBlue, orders, order_names);

TYPED_TEST(RedBlue, ServesInItsOrder) {
    constexpr long waiting = 300; // several segments
    for (const bool reds : {true, false}) {
        const long first = reds ? 1 : 10'001;
        for (long id = first; id != first + waiting; ++id) {
            reds ? this->red(id) : this->blue(id);
        }
        for (long n = 0; n != waiting; ++n) {
            const long id = first + 1'000 + n;
            reds ? this->blue(id) : this->red(id);
            const long expected = first + this->served(n, waiting);
            ASSERT_EQ(this->partner_of(id), expected);
            ASSERT_EQ(this->partner_of(expected), id);
        }
    }
}

TYPED_TEST(RedBlue, TriesTakeWhoWaitsAndLeaveNothing) {
    auto& at = this->meeting_;
    EXPECT_EQ(at.try_red(this->item(1)).error(), exchange_errc::no_partner);
    EXPECT_EQ(at.try_blue(this->item(2)).error(), exchange_errc::no_partner);
    this->red(3);
    EXPECT_EQ(at.try_red(this->item(4)).error(), exchange_errc::no_partner);
    const auto got = at.try_blue(this->item(5));
    ASSERT_TRUE(got);
    EXPECT_EQ((*got).id(), 3);
    this->loop_.run_until_idle();
    EXPECT_EQ(this->partner_of(3), 5);
}

TYPED_TEST(RedBlue, CancelsWhomItIsTold) {
    std::vector<std::stop_source> stops(200);
    for (long id = 0; id != 200; ++id) {
        this->red(id, stops.at(static_cast<std::size_t>(id)).get_token());
    }
    for (long id = 0; id != 200; ++id) {
        if (id % 3 != 0) {
            stops.at(static_cast<std::size_t>(id)).request_stop();
        }
    }
    this->loop_.run_until_idle();
    for (long id = 0; id != 200; ++id) {
        ASSERT_EQ(this->partner_of(id), id % 3 == 0 ? -1 : -2);
        if (id % 3 != 0) {
            ASSERT_EQ(this->error_of(id), exchange_errc::cancelled);
            ASSERT_EQ(this->got(id)->returned().id(), id);
        }
    }
    for (long n = 0; n != 67; ++n) { // those who remain can be met, and no others
        this->blue(1'000 + n);
        ASSERT_EQ(this->partner_of(1'000 + n), 3 * this->served(n, 67));
    }
    this->blue(2'000);
    EXPECT_EQ(this->partner_of(2'000), -1);
}

TYPED_TEST(RedBlue, StopsAndDeadlinesThatCameBeforeTheStart) {
    std::stop_source stop;
    stop.request_stop();
    this->red(1);
    this->blue(2, stop.get_token());
    EXPECT_EQ(this->error_of(2), exchange_errc::cancelled);
    EXPECT_EQ(this->partner_of(1), -1)
        << "a stop before the start cancels even if a partner is there";
    const auto got =
        sync_wait(this->meeting_.blue(this->item(3), std::chrono::steady_clock::time_point()));
    ASSERT_TRUE(got) << "a deadline that has passed still takes a partner that is waiting";
    EXPECT_EQ((*got).id(), 1);
    const auto alone = sync_wait(this->meeting_.blue(this->item(4), 0s));
    EXPECT_EQ(alone.error(), exchange_errc::timed_out);
}

TYPED_TEST(RedBlue, ClosingEndsEveryWait) {
    for (long id = 0; id != 150; ++id) {
        this->blue(id);
    }
    EXPECT_FALSE(this->meeting_.is_closed());
    this->meeting_.close();
    this->meeting_.close();
    EXPECT_TRUE(this->meeting_.is_closed());
    this->loop_.run_until_idle();
    for (long id = 0; id != 150; ++id) {
        ASSERT_EQ(this->partner_of(id), -2);
        ASSERT_EQ(this->error_of(id), exchange_errc::closed);
    }
    EXPECT_EQ(this->meeting_.try_red(this->item(1'000)).error(), exchange_errc::closed);
    EXPECT_EQ(sync_wait(this->meeting_.red(this->item(1'001), 1h)).error(), exchange_errc::closed);
    this->red(1'002);
    EXPECT_EQ(this->error_of(1'002), exchange_errc::closed);
}

TYPED_TEST(RedBlue, DestructionCloses) {
    auto at = std::make_unique<typename TestFixture::meeting>();
    this->loop_.spawn(this->wait(*at, this->item(1), {}, true, this->got_[1]));
    this->loop_.spawn(this->wait(*at, this->item(2), {}, true, this->got_[2]));
    this->loop_.run_until_idle();
    at.reset();
    this->loop_.run_until_idle();
    EXPECT_EQ(this->error_of(1), exchange_errc::closed);
    EXPECT_EQ(this->error_of(2), exchange_errc::closed);
}

bare_coroutine wait_bare(auto& at, tracked mine, bool is_red, std::stop_token stop) {
    if (is_red) {
        static_cast<void>(co_await at.red(std::move(mine), std::move(stop)));
    } else {
        static_cast<void>(co_await at.blue(std::move(mine), std::move(stop)));
    }
}

TYPED_TEST(RedBlue, AFrameThatIsDestroyedTakesItsOfferBack) {
    std::stop_source stop;
    for (const bool stoppable : {false, true}) {
        auto gone = wait_bare(this->meeting_, this->item(1), true,
                              stoppable ? stop.get_token() : std::stop_token());
        EXPECT_FALSE(gone.done());
        gone.destroy();
        EXPECT_EQ(this->items_.alive, 0);
        EXPECT_EQ(this->meeting_.try_blue(this->item(2)).error(), exchange_errc::no_partner);
    }
    stop.request_stop();
}

bare_coroutine wait_and_destroy(auto& at, tracked mine, std::optional<bare_coroutine>& other) {
    static_cast<void>(co_await at.red(std::move(mine)));
    other.reset();
}

/// Who is resumed inline by a close may destroy another that waits, wherever the close is in its
/// walk.
TYPED_TEST(RedBlue, AFrameMayBeDestroyedInTheMiddleOfAClose) {
    for (const bool destroyer_first : {true, false}) {
        typename TestFixture::meeting at;
        std::optional<bare_coroutine> victim;
        std::optional<bare_coroutine> destroyer;
        const auto start_victim = [](auto& x, census& items, auto& out) -> task<> {
            out.emplace(wait_bare(x, tracked(items, 1), true, {})); // on the loop
            co_return;
        };
        for (const bool first : {true, false}) {
            if (first == destroyer_first) {
                destroyer.emplace(wait_and_destroy(at, this->item(2), victim)); // on no executor
            } else {
                this->loop_.spawn(start_victim(at, this->items_, victim));
                this->loop_.run_until_idle();
            }
        }
        this->loop_.spawn([](auto& x) -> task<> {
            x.close();
            co_return;
        }(at));
        this->loop_.run_until_idle();
        EXPECT_TRUE(destroyer->done());
        EXPECT_FALSE(victim);
        destroyer.reset();
        EXPECT_EQ(this->items_.alive, 0);
    }
}

TYPED_TEST(RedBlue, MeetsInlineWithoutExecutors) {
    auto waits = wait_bare(this->meeting_, this->item(1), true, {});
    auto meets = wait_bare(this->meeting_, this->item(2), false, {});
    EXPECT_TRUE(waits.done());
    EXPECT_TRUE(meets.done());
}

TYPED_TEST(RedBlue, ExchangesUnlikeTypesAndGivesThemBack) {
    tryst::red_blue_exchanger<int, std::string, TypeParam::value> at;
    std::optional<tryst::exchange_result<std::string, int>> red;
    this->loop_.spawn(
        [](auto& x, auto& end) -> task<> { end.emplace(co_await x.red(7)); }(at, red));
    this->loop_.run_until_idle();
    EXPECT_EQ(*sync_wait(at.blue("seven")), 7);
    this->loop_.run_until_idle();
    ASSERT_TRUE(red && *red);
    EXPECT_EQ(**red, "seven");

    const auto none = at.try_red(7);
    EXPECT_EQ(none.error(), exchange_errc::no_partner);
    EXPECT_EQ(none.returned(), 7);
    const std::string mine = "a string that is too long to be kept in itself";
    std::optional<tryst::exchange_result<int, std::string>> late;
    tryst::test::timed_loop timed;
    timed->spawn([](auto& x, std::string own, auto& end) -> task<> {
        end.emplace(co_await x.blue(std::move(own), 5ms));
    }(at, mine, late));
    timed->run_until_idle();
    timed.advance(5ms - 1ns);
    EXPECT_FALSE(late);
    timed.advance(1ns);
    ASSERT_TRUE(late);
    EXPECT_EQ(late->error(), exchange_errc::timed_out);
    EXPECT_EQ(late->returned(), mine);
    EXPECT_THROW(static_cast<void>(late->value()), std::system_error);
}

// ---- Channels.

TYPED_TEST(RedBlue, AChannelServesSendersInItsOrder) {
    typename TestFixture::channel c;
    for (long id = 0; id != 100; ++id) {
        this->loop_.spawn([](auto& to, tracked mine) -> task<> {
            EXPECT_TRUE(co_await to.send(std::move(mine)));
        }(c, this->item(id)));
    }
    this->loop_.run_until_idle();
    for (long n = 0; n != 100; ++n) {
        const auto got = sync_wait(c.receive());
        ASSERT_TRUE(got);
        EXPECT_EQ((*got).id(), this->served(n, 100));
    }
    this->loop_.run_until_idle();
}

TYPED_TEST(RedBlue, AChannelServesReceiversInItsOrder) {
    typename TestFixture::channel c;
    std::vector<long> got(100, -1);
    for (long& mine : got) {
        this->loop_.spawn(
            [](auto& from, long& id) -> task<> { id = (*co_await from.receive()).id(); }(c, mine));
    }
    this->loop_.run_until_idle();
    for (long n = 0; n != 100; ++n) {
        EXPECT_TRUE(c.try_send(this->item(n)));
    }
    this->loop_.run_until_idle();
    for (long n = 0; n != 100; ++n) {
        EXPECT_EQ(got[static_cast<std::size_t>(this->served(n, 100))], n);
    }
}

TYPED_TEST(RedBlue, AFailedSendGivesTheItemBack) {
    typename TestFixture::channel c;
    std::stop_source stop;
    stop.request_stop();
    const auto expect = [](const auto& sent, exchange_errc why, long id) {
        EXPECT_EQ(sent.error(), why);
        EXPECT_EQ(sent.returned().id(), id);
    };
    constexpr std::chrono::steady_clock::time_point past;
    expect(c.try_send(this->item(1)), exchange_errc::no_partner, 1);
    expect(sync_wait(c.send(this->item(2), 1ms)), exchange_errc::timed_out, 2);
    expect(sync_wait(c.send(this->item(3), past)), exchange_errc::timed_out, 3);
    expect(sync_wait(c.send(this->item(4), stop.get_token())), exchange_errc::cancelled, 4);
    std::optional<tryst::exchange_result<void, tracked>> waits;
    this->loop_.spawn([](auto& to, tracked mine, auto& end) -> task<> {
        end.emplace(co_await to.send(std::move(mine)));
    }(c, this->item(5), waits));
    this->loop_.run_until_idle();
    c.close();
    this->loop_.run_until_idle();
    ASSERT_TRUE(waits);
    expect(*waits, exchange_errc::closed, 5);
    expect(sync_wait(c.send(this->item(6))), exchange_errc::closed, 6);
}

TYPED_TEST(RedBlue, AFailedReceiveSaysWhy) {
    typename TestFixture::channel c;
    std::stop_source stop;
    constexpr std::chrono::steady_clock::time_point past;
    EXPECT_EQ(c.try_receive().error(), exchange_errc::no_partner);
    EXPECT_EQ(sync_wait(c.receive(1ms)).error(), exchange_errc::timed_out);
    EXPECT_EQ(sync_wait(c.receive(1ms, stop.get_token())).error(), exchange_errc::timed_out);
    EXPECT_EQ(sync_wait(c.receive(past)).error(), exchange_errc::timed_out);
    stop.request_stop();
    EXPECT_EQ(sync_wait(c.receive(stop.get_token())).error(), exchange_errc::cancelled);
    c.close();
    EXPECT_TRUE(c.is_closed());
    EXPECT_EQ(sync_wait(c.receive()).error(), exchange_errc::closed);
}

} // namespace
