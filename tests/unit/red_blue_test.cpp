// SPDX-License-Identifier: MIT
#include <tryst/red_blue_exchanger.hpp>

#include "support/bare_coroutine.hpp"
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
#include <thread>
#include <type_traits>
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
    using mixed = tryst::red_blue_exchanger<int, std::string, Order::value>;
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

    static task<> wait(meeting& at, tracked mine, std::stop_token stop, bool is_red,
                       std::optional<result>& end) {
        if (is_red) {
            end.emplace(co_await at.red(std::move(mine), std::move(stop)));
        } else {
            end.emplace(co_await at.blue(std::move(mine), std::move(stop)));
        }
    }

    census items_;
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

TYPED_TEST(RedBlue, PairsUnlikeColours) {
    this->red(1);
    this->red(2);
    EXPECT_EQ(this->partner_of(1), -1);
    EXPECT_EQ(this->partner_of(2), -1);
    this->blue(3);
    this->blue(4);
    EXPECT_EQ(this->partner_of(3) + this->partner_of(4), 3);
    EXPECT_EQ(this->partner_of(1) + this->partner_of(2), 7);
    this->blue(5);
    EXPECT_EQ(this->partner_of(5), -1);
    this->red(6);
    EXPECT_EQ(this->partner_of(5), 6);
    EXPECT_EQ(this->partner_of(6), 5);
}

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
            const long expected =
                TypeParam::value == order::lifo ? first + waiting - 1 - n : first + n;
            ASSERT_EQ(this->partner_of(id), expected);
            ASSERT_EQ(this->partner_of(expected), id);
        }
    }
}

TYPED_TEST(RedBlue, ExchangesUnlikeTypes) {
    typename TestFixture::mixed at;
    std::optional<tryst::exchange_result<std::string, int>> red;
    std::optional<tryst::exchange_result<int, std::string>> blue;
    this->loop_.spawn(
        [](auto& x, auto& end) -> task<> { end.emplace(co_await x.red(7)); }(at, red));
    this->loop_.spawn(
        [](auto& x, auto& end) -> task<> { end.emplace(co_await x.blue("seven")); }(at, blue));
    this->loop_.run_until_idle();
    ASSERT_TRUE(red && *red);
    ASSERT_TRUE(blue && *blue);
    EXPECT_EQ(**red, "seven");
    EXPECT_EQ(**blue, 7);
}

TYPED_TEST(RedBlue, GivesUnlikeItemsBack) {
    typename TestFixture::mixed at;
    const auto red = at.try_red(7);
    EXPECT_EQ(red.error(), exchange_errc::no_partner);
    EXPECT_EQ(red.returned(), 7);
    const auto blue = sync_wait(at.blue("a string that is too long to be kept in itself", 1us));
    EXPECT_EQ(blue.error(), exchange_errc::timed_out);
    EXPECT_EQ(blue.returned(), "a string that is too long to be kept in itself");
    EXPECT_THROW(static_cast<void>(blue.value()), std::system_error);
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
    // The remaining waiter can be met, and no other.
    std::vector<long> met;
    for (long id = 1'000; id != 1'067; ++id) {
        this->blue(id);
        met.push_back(this->partner_of(id));
    }
    if (TypeParam::value == order::lifo) {
        std::reverse(met.begin(), met.end());
    }
    for (std::size_t i = 0; i != met.size(); ++i) {
        ASSERT_EQ(met[i], static_cast<long>(3 * i));
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

TYPED_TEST(RedBlue, TimesOutNeverEarly) {
    const auto start = std::chrono::steady_clock::now();
    const auto got = sync_wait(this->meeting_.red(this->item(1), 5ms));
    EXPECT_EQ(got.error(), exchange_errc::timed_out);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 5ms);
    EXPECT_EQ(got.returned().id(), 1);
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
    std::optional<typename TestFixture::result> first;
    std::optional<typename TestFixture::result> second;
    this->loop_.spawn(this->wait(*at, this->item(1), {}, true, first));
    this->loop_.spawn(this->wait(*at, this->item(2), {}, true, second));
    this->loop_.run_until_idle();
    at.reset();
    this->loop_.run_until_idle();
    EXPECT_EQ(first->error(), exchange_errc::closed);
    EXPECT_EQ(second->error(), exchange_errc::closed);
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

TYPED_TEST(RedBlue, ThreadsAndCoroutinesMeet) {
    constexpr long each = 2'000;
    auto& at = this->meeting_;
    std::thread thread([&] {
        for (long i = 0; i != each; ++i) {
            const auto got = sync_wait(at.blue(tracked(this->items_, -i)));
            ASSERT_TRUE(got);
            ASSERT_EQ((*got).id(), i + 1);
        }
    });
    sync_wait([](auto& x, census& items) -> task<> {
        for (long i = 0; i != each; ++i) {
            const auto got = co_await x.red(tracked(items, i + 1));
            EXPECT_TRUE(got);
            EXPECT_EQ((*got).id(), -i);
        }
    }(at, this->items_));
    thread.join();
    EXPECT_EQ(this->items_.alive, 0);
}

/// Section 4.4 of the paper: four parties, each with three items to swap. If three of them pair up
/// in every round, the fourth is left without a partner for its last; with two colours that cannot
/// be.
TYPED_TEST(RedBlue, NobodyIsStranded) {
    for (unsigned schedule = 0; schedule != 256; ++schedule) {
        typename TestFixture::meeting at;
        int finished = 0;
        const auto party = [](auto& x, census& items, bool is_red, run_loop& on, unsigned turns,
                              int& done) -> task<> {
            for (long i = 0; i != 3; ++i) {
                for (; turns % 2 != 0; turns /= 2) {
                    co_await on.schedule();
                }
                turns /= 2;
                if (is_red) {
                    EXPECT_TRUE(co_await x.red(tracked(items, i)));
                } else {
                    EXPECT_TRUE(co_await x.blue(tracked(items, i)));
                }
            }
            ++done;
        };
        for (unsigned p = 0; p != 4; ++p) {
            this->loop_.spawn(
                party(at, this->items_, p % 2 == 0, this->loop_, schedule >> (2 * p), finished));
        }
        this->loop_.run_until_idle();
        ASSERT_EQ(finished, 4);
    }
}

TEST(RedBlueResult, SaysWhatIsMissing) {
    using tryst::exchange_result;
    EXPECT_EQ(std::error_code(exchange_errc::out_of_memory), std::errc::not_enough_memory);
    static_assert(std::is_same_v<exchange_result<int>, exchange_result<int, int>>);
    exchange_result<void, std::string> sent{tryst::detail::nothing()};
    EXPECT_TRUE(sent);
    sent.value();
    exchange_result<void, std::string> kept(exchange_errc::closed, "mine");
    EXPECT_EQ(kept.returned(), "mine");
    EXPECT_THROW(kept.value(), std::system_error);
    exchange_result<std::string, void> received(std::string("theirs"));
    EXPECT_EQ(*received, "theirs");
    EXPECT_EQ(received->size(), 6U);
    exchange_result<std::string, void> nothing(exchange_errc::closed, {});
    EXPECT_FALSE(nothing);
    EXPECT_THROW(static_cast<void>(nothing.value()), std::system_error);
}

} // namespace
