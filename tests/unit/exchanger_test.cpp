// SPDX-License-Identifier: MIT
// What an exchanger promises besides the ends of its waits (end_of_wait_test.cpp).
#include <tryst/exchanger.hpp>

#include "support/insides.hpp"
#include "support/opened_arena.hpp"
#include "support/short_exchanger.hpp"
#include "support/started.hpp"
#include "support/tracked.hpp"

#include <tryst/red_blue_exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/synchronous_channel.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using meeting = exchanger<tracked>;

// Each compiles with and without braces, as a member and as an element.
TEST(Exchanger, MayBeAMemberOrAnElement) {
    struct server {
        int port = 80;
        exchanger<int> swaps = {};
        exchanger<int> crowd{3};
        red_blue_exchanger<int> sides = {};
        synchronous_channel<int, order::lifo> latest{0};
        synchronous_channel<int> requests = {};
    };
    const server one{};
    server other{.port = 8'080};
    std::array<synchronous_channel<int>, 2> rooms{};
    std::array<exchanger<int>, 2> tables{};
    EXPECT_FALSE(one.requests.is_closed());
    EXPECT_EQ(one.crowd.capacity(), 3U);
    EXPECT_FALSE(other.swaps.try_exchange(1));
    EXPECT_FALSE(rooms[1].try_receive());
    EXPECT_EQ(tables[0].capacity(), one.swaps.capacity());
}

TEST(Exchanger, HasTheCapacityThatItWasGiven) {
    for (const std::size_t capacity : {0U, 1U, 255U}) {
        EXPECT_EQ(exchanger<int>(capacity).capacity(), capacity);
    }
}

TEST(RedBlueCloseWithArena, RefusesLaterArrivals) {
    short_exchanger<detail::dual_stack, int> ex(1);
    arena_of(ex.inside()).grow();
    ex.close();
    parties start;
    EXPECT_EQ(*start([&] { return ex.red(1); }), exchange_errc::closed);
    EXPECT_EQ(*start([&] { return ex.blue(2); }), exchange_errc::closed);
    arena_of(ex.inside()).grow();
    EXPECT_EQ(ex.inside().spread(), 0U);
}

// ---- A coroutine that is resumed inline destroys the exchanger, whose member is being called.

template <class... Limit>
bare_coroutine inherit(std::optional<meeting>& ex, tracked mine,
                       std::optional<exchange_result<tracked>>& got, Limit... limit) {
    got.emplace(co_await ex->exchange(std::move(mine), limit...));
    ex.reset();
}

TEST(Inline, TheWaiterMayDestroyTheExchangerThatEndsItsWait) {
    using result = exchange_result<tracked>;
    census items;
    std::stop_source stop;
    struct end {
        const char* name;
        result (*cause)(meeting& ex, tracked partners, std::stop_source& stop);
    };
    const end ends[] = {
        {"try", [](meeting& ex, tracked item, auto&) { return ex.try_exchange(std::move(item)); }},
        {"thread", [](meeting& ex, tracked item,
                      auto&) { return sync_wait(ex.exchange(std::move(item), 1h)); }},
        {"coroutine",
         [](meeting& ex, tracked item, auto&) {
             const auto got = start_bare([&] { return ex.exchange(std::move(item)); });
             return std::move(*got);
         }},
        {"close",
         [](meeting& ex, tracked item, auto&) {
             ex.close();
             return result(exchange_errc::closed, std::move(item));
         }},
        {"stop", [](meeting&, tracked item, std::stop_source& source) {
             source.request_stop();
             return result(exchange_errc::cancelled, std::move(item));
         }}};
    for (const end& each : ends) {
        for (const bool stoppable : {true, false}) {
            SCOPED_TRACE(each.name);
            std::optional<meeting> ex(std::in_place, 2U);
            std::optional<result> got;
            const auto waiter = stoppable ? inherit(ex, tracked(items, 1), got, stop.get_token())
                                          : inherit(ex, tracked(items, 1), got);
            grow(*ex, 2);
            const result partners = each.cause(*ex, tracked(items, 2), stop);
            if (stop.stop_requested() && !stoppable) {
                EXPECT_FALSE(got);
                continue; // there was nothing to stop
            }
            EXPECT_FALSE(ex);
            ASSERT_TRUE(got);
            EXPECT_EQ(got->has_value(), partners.has_value());
            EXPECT_EQ(got->has_value() ? (**got).id() : got->returned().id(), partners ? 2 : 1);
        }
    }
}

template <class Exchanger>
detached_coroutine end_with_the_last_of_three(std::unique_ptr<Exchanger>& ex, int& closed) {
    auto got = co_await ex->red(1);
    if (got.error() == exchange_errc::closed && ++closed == 3) {
        ex.reset();
    }
}

template <class Exchanger>
void close_over_the_last_of_three() {
    auto ex = std::make_unique<Exchanger>();
    int closed = 0;
    for (int i = 0; i != 3; ++i) {
        end_with_the_last_of_three(ex, closed);
    }
    ex->close();
    EXPECT_EQ(closed, 3);
    EXPECT_EQ(ex, nullptr);
}

TEST(Inline, TheLastWaiterMayDestroyTheRedBlueExchangerThatIsClosed) {
    close_over_the_last_of_three<red_blue_exchanger<int>>();
    close_over_the_last_of_three<red_blue_exchanger<int, int, order::lifo>>();
}

// ---- Operations that never start.

TEST(ExchangeOperation, GivesItsItemToDestructionIfItIsNeverAwaited) {
    census items;
    std::stop_source stop;
    meeting ex;
    std::optional<meeting> dies_first(std::in_place);
    {
        auto plain = dies_first->exchange(tracked(items, 1));
        auto stoppable = ex.exchange(tracked(items, 2), stop.get_token());
        auto timed = ex.exchange(tracked(items, 3), 1h);
        auto both =
            ex.exchange(tracked(items, 4), std::chrono::steady_clock::now() + 1h, stop.get_token());
        EXPECT_EQ(items.alive, 4);
        EXPECT_FALSE(waits_in_list(ex)); // nothing happens until one is awaited
        dies_first.reset();
    }
    EXPECT_EQ(items.alive, 0);
    EXPECT_EQ(items.created, 4);
}

TEST(ExchangeOperation, IsNeitherCopiedNorMoved) {
    using operation = decltype(std::declval<meeting&>().exchange(std::declval<tracked>()));
    EXPECT_FALSE(std::is_copy_constructible_v<operation>);
    EXPECT_FALSE(std::is_move_constructible_v<operation>);
    EXPECT_FALSE(std::is_copy_assignable_v<operation>);
    EXPECT_FALSE(std::is_move_assignable_v<operation>);
}

task<> hold(meeting& ex, tracked mine) {
    auto got = co_await ex.exchange(std::move(mine));
    ADD_FAILURE() << "it has started, with " << got.has_value();
}

TEST(FrameOfATask, ThatNeverStartsHoldsItsItemToTheEnd) {
    census items;
    meeting ex;
    {
        run_loop loop;
        loop.spawn(hold(ex, tracked(items, 1)));
        EXPECT_EQ(items.alive, 1);
    }
    EXPECT_EQ(items.alive, 0);
    EXPECT_FALSE(waits_in_list(ex));
}

// ---- Stop tokens.

// What is no token is none, and no error.
static_assert(stoppable_token<std::stop_token>);
static_assert(!stoppable_token<std::stop_source>);
static_assert(!stoppable_token<int>);

TEST(ExchangeStop, ThatIsImpossibleChangesNothing) {
    exchanger<int> ex;
    parties start;
    const auto never = start([&] { return ex.exchange(1, std::stop_token()); });
    EXPECT_TRUE(never.waits());
    std::stop_source gone;
    const std::stop_token orphan = gone.get_token();
    gone = std::stop_source(std::nostopstate);
    EXPECT_EQ(*start([&] { return ex.exchange(2, orphan); }), 1);
    start.run();
    EXPECT_EQ(*never, 2);
    EXPECT_EQ(sync_wait(ex.exchange(3, 1ms, std::stop_token())).error(), exchange_errc::timed_out);
}

} // namespace
} // namespace tryst::test
