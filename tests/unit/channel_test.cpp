// SPDX-License-Identifier: MIT
// What a channel with a buffer promises, on one thread. Races: tests/model and tests/stress.
#include <tryst/channel.hpp>

#include "support/bare_coroutine.hpp"
#include "support/logged_span.hpp"
#include "support/started.hpp"
#include "support/tracked.hpp"

#include <tryst/select.hpp>
#include <tryst/statistics.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using numbers = std::vector<int>;

struct itself {
    std::size_t operator()(int number) const noexcept { return static_cast<std::size_t>(number); }
};
using weighing = channel<int, weighted<itself>>;

int ended(const auto& each) {
    return static_cast<int>(std::ranges::count_if(each, [](auto& party) { return party.ok(); }));
}

numbers drain(auto& ch) {
    numbers taken;
    while (auto got = ch.try_receive()) {
        taken.push_back(*got);
    }
    return taken;
}
numbers all_of(auto&& items) {
    numbers taken;
    for (auto& each : items) {
        taken.push_back(each);
    }
    return taken;
}
numbers up_to(int count) {
    numbers all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

// ---- Items and room.

TEST(Channel, KeepsItemsInOrderUpToItsLimit) {
    channel<int> ch(3);
    for (int i = 0; i != 3; ++i) {
        EXPECT_TRUE(ch.try_send(i));
        EXPECT_EQ(ch.size(), static_cast<std::size_t>(i) + 1);
    }
    auto full = ch.try_send(3);
    EXPECT_EQ(full, exchange_errc::no_partner);
    EXPECT_EQ(full.error(), std::errc::operation_would_block);
    EXPECT_EQ(full.returned(), 3);
    EXPECT_EQ(drain(ch), up_to(3));
    EXPECT_EQ(ch.try_receive().error(), std::errc::operation_would_block);
}

TEST(Channel, HoldsManyBlocksOfItemsAgainAndAgain) {
    for (const int count : {1, 63, 64, 65, 128, 129, 1'000}) {
        channel<int> ch(unlimited);
        for (int round = 0; round != 3; ++round) {
            for (int i = 0; i != count; ++i) {
                ASSERT_TRUE(ch.try_send(i));
            }
            EXPECT_EQ(drain(ch), up_to(count));
        }
        int next = 0;
        for (int i = 0; i != 5 * count; ++i) { // never empty in between
            ASSERT_TRUE(ch.try_send(i));
            if (i >= count) {
                EXPECT_EQ(ch.try_receive(), next++);
            }
        }
        EXPECT_EQ(ch.size(), static_cast<std::size_t>(count));
    }
}

struct room {
    std::size_t limit;
    numbers weights; ///< Those that are sent at first.
    std::size_t enter; ///< How many of them enter.
};

TEST(Weights, DecideWhoHasRoom) {
    constexpr int most = std::numeric_limits<int>::max();
    const room rooms[]{
        {10, {4, 6, 1}, 2},
        {10, {4, 7}, 1},
        {10, {11, 0}, 1},
        {10, {11, 11}, 1},
        {10, {1, 11}, 1},
        {10, {0, 0, 10, 0, 1}, 4},
        {10, {10, 0, 0}, 3},
        {0, {0}, 0},
        {0, {5}, 0},
        {unlimited, {most, most, most}, 3},
        {unlimited - 1, {most, 0, most}, 3},
        {1, {most, 0}, 1},
    };
    for (const room& each : rooms) {
        weighing ch(each.limit);
        std::size_t entered = 0;
        while (entered != each.weights.size() && ch.try_send(each.weights[entered])) {
            ++entered;
        }
        EXPECT_EQ(entered, each.enter) << testing::PrintToString(each.weights);
        EXPECT_EQ(ch.size(), entered);
    }
}

TEST(Weights, DoNotOverflow) {
    struct huge {
        std::size_t operator()(std::size_t given) const noexcept { return given; }
    };
    channel<std::size_t, weighted<huge>> ch(unlimited);
    EXPECT_TRUE(ch.try_send(unlimited - 1));
    EXPECT_FALSE(ch.try_send(2));
    EXPECT_FALSE(ch.try_send(unlimited));
    EXPECT_TRUE(ch.try_send(1));
    EXPECT_TRUE(ch.try_send(0));
    ch.set_limit(5);
    EXPECT_FALSE(ch.try_send(0));
    EXPECT_EQ(ch.try_receive(), unlimited - 1);
    EXPECT_FALSE(ch.try_send(5));
    EXPECT_TRUE(ch.try_send(4));
}

// ---- Parties that wait.

TEST(Channel, ServesWaitingPartiesInOrder) {
    for (const std::size_t limit : {0U, 1U, 2U}) {
        channel<int> ch(limit);
        parties start;
        std::vector<started<exchange_result<void, int>>> sent;
        for (int i = 0; i != 5; ++i) {
            sent.push_back(start([&] { return ch.send(i); }));
            EXPECT_EQ(sent.back().waits(), sent.size() > limit);
        }
        EXPECT_FALSE(ch.try_send(9)); // does not overtake them
        for (int i = 0; i != 5; ++i) {
            EXPECT_EQ(ch.try_receive(), i);
            start.run();
            EXPECT_EQ(ended(sent), std::min(5, static_cast<int>(limit) + i + 1));
        }
        const auto first = start([&] { return ch.receive(); });
        const auto second = start([&] { return ch.receive(); });
        EXPECT_TRUE(ch.try_send(7));
        EXPECT_TRUE(ch.try_send(8));
        start.run();
        EXPECT_EQ(*first, 7);
        EXPECT_EQ(*second, 8);
        EXPECT_EQ(ch.size(), 0U);
    }
}

TEST(Weights, LetNoBatchOvertakeASenderThatWaits) {
    weighing ch(3);
    parties start;
    numbers light{1, 0};
    EXPECT_TRUE(ch.try_send(2));
    const auto heavy = start([&] { return ch.send(3); });
    EXPECT_EQ(ch.try_send_all(light), exchange_errc::no_partner);
    const auto batch = start([&] { return ch.send_all(light); });
    EXPECT_TRUE(heavy.waits() && batch.waits());
    EXPECT_EQ(drain(ch), (numbers{2, 3, 1, 0}));
    start.run();
    EXPECT_TRUE(heavy.ok() && batch.ok());
}

TEST(Channel, AdmitsTheOthersHoweverTheFirstSenderLeaves) {
    enum class end { stop, deadline, frame };
    for (const auto how : {end::stop, end::deadline, end::frame}) {
        SCOPED_TRACE(static_cast<int>(how));
        weighing ch(10);
        parties start;
        std::stop_source stop;
        std::optional<parties> dies(std::in_place);
        EXPECT_TRUE(ch.try_send(6));
        const auto heavy =
            (how == end::frame ? *dies : start)([&] { return ch.send(5, 1h, stop.get_token()); });
        const auto second = start([&] { return ch.send(3); });
        const auto third = start([&] { return ch.send(1); });
        const auto fourth = start([&] { return ch.send(1); });
        EXPECT_FALSE(ch.try_send(0)) << "no light item overtakes a heavy one that waits";
        EXPECT_TRUE(second.waits());
        if (how == end::stop) {
            stop.request_stop();
        } else if (how == end::deadline) {
            start.loop.advance(2h);
        } else {
            dies.reset();
        }
        start.run();
        EXPECT_TRUE(heavy.waits() || heavy->returned() == 5);
        EXPECT_TRUE(second.ok() && third.ok() && fourth.waits());
        EXPECT_EQ(drain(ch), (numbers{6, 3, 1, 1}));
    }
}

TEST(Channel, ASenderInTheMiddleLeavesAlone) {
    channel<int> ch(1);
    parties start;
    std::stop_source stop;
    EXPECT_TRUE(ch.try_send(0));
    const auto first = start([&] { return ch.send(1); });
    const auto middle = start([&] { return ch.send(2, stop.get_token()); });
    const auto last = start([&] { return ch.send(3); });
    stop.request_stop();
    start.run();
    EXPECT_EQ(middle->returned(), 2);
    EXPECT_TRUE(first.waits() && last.waits());
    EXPECT_EQ(drain(ch), (numbers{0, 1, 3}));
}

TEST(Channel, AReceiveThatFailsHasTakenNothing) {
    channel<int> ch(1);
    parties start;
    std::stop_source stop;
    numbers many(3, -1);
    const auto stopped = start([&] { return ch.receive(stop.get_token()); });
    const auto timed = start([&] { return ch.receive_some(many, 5ms); });
    const auto waits = start([&] { return ch.receive(); });
    start.loop.advance(5ms);
    stop.request_stop();
    start.run();
    EXPECT_EQ(stopped.error(), exchange_errc::cancelled);
    EXPECT_EQ(timed.error(), exchange_errc::timed_out);
    EXPECT_TRUE(ch.try_send(4));
    EXPECT_TRUE(ch.try_send(5));
    start.run();
    EXPECT_EQ(*waits, 4);
    EXPECT_EQ(drain(ch), numbers{5});
    EXPECT_EQ(many, numbers(3, -1));
    const auto late = start([&] { return ch.receive(stop.get_token()); });
    EXPECT_EQ(late.error(), exchange_errc::cancelled);
}

// ---- A limit that changes.

TEST(SetLimit, AdmitsSendersOrMakesThemWait) {
    channel<int> ch(1);
    parties start;
    std::vector<started<exchange_result<void, int>>> sent;
    for (int i = 0; i != 6; ++i) {
        sent.push_back(start([&] { return ch.send(i); }));
    }
    const auto admitted = [&] {
        start.run();
        return ended(sent);
    };
    EXPECT_EQ(admitted(), 1);
    ch.set_limit(3);
    EXPECT_EQ(ch.limit(), 3U);
    EXPECT_EQ(admitted(), 3);
    ch.set_limit(0);
    EXPECT_EQ(admitted(), 3);
    ch.set_limit(2);
    EXPECT_EQ(ch.try_receive(), 0);
    EXPECT_EQ(admitted(), 3);
    EXPECT_EQ(ch.try_receive(), 1);
    EXPECT_EQ(admitted(), 4);
    EXPECT_FALSE(ch.try_send(9));
    ch.set_limit(unlimited);
    EXPECT_EQ(admitted(), 6);
    EXPECT_TRUE(ch.try_send(6));
    EXPECT_EQ(drain(ch), (numbers{2, 3, 4, 5, 6}));
}

// ---- Batches.

TEST(Batches, OfNothingEndAtOnce) {
    for (const bool closed : {false, true}) {
        channel<int, counted> ch(1);
        EXPECT_TRUE(ch.try_send(1));
        parties start;
        const auto waits = start([&] { return ch.send(2); });
        if (closed) {
            ch.close();
        }
        numbers into;
        EXPECT_TRUE(start([&] { return ch.send_all({}); }).ok());
        EXPECT_TRUE(sync_wait(ch.send_all({}, 0ms)));
        EXPECT_EQ(*start([&] { return ch.receive_some({}); }), 0U);
        EXPECT_EQ(*start([&] { return ch.receive_all(into, 0); }), 0U);
        EXPECT_EQ(ch.size(), 1U);
        EXPECT_EQ(ch.stats().waiting, closed ? 1U : 2U);
    }
}

TEST(Batches, FreeRoomForAllThatFitAtOnce) {
    channel<int> ch(4);
    parties start;
    numbers first = up_to(4);
    EXPECT_TRUE(start([&] { return ch.send_all(first); }).ok());
    std::vector<started<exchange_result<void, int>>> sent;
    for (int i = 4; i != 9; ++i) {
        sent.push_back(start([&] { return ch.send(i); }));
    }
    numbers into(3);
    EXPECT_EQ(*start([&] { return ch.receive_some(into); }), 3U);
    EXPECT_EQ(into, up_to(3));
    EXPECT_EQ(ended(sent), 3);
    EXPECT_EQ(drain(ch), (numbers{3, 4, 5, 6, 7, 8}));
}

TEST(Batches, OfAnySizeArriveInOrder) {
    for (const std::size_t limit : {0U, 1U, 7U, 64U, 200U}) {
        for (const std::size_t part : {1U, 5U, 64U, 65U, 1'000U}) {
            for (const bool receiver_first : {true, false}) {
                channel<int> ch(limit);
                parties start;
                numbers given = up_to(500);
                numbers got;
                const auto receive = [&]() -> task<> {
                    while (got.size() != 500) {
                        const auto taken = co_await ch.receive_all(got, part);
                        EXPECT_LE(*taken, part);
                        EXPECT_GE(*taken, 1U);
                    }
                };
                const auto send = [&]() -> task<> {
                    const auto sent = co_await ch.send_all(given);
                    EXPECT_TRUE(sent);
                };
                start.loop->spawn(receiver_first ? receive() : send());
                start.run();
                start.loop->spawn(receiver_first ? send() : receive());
                start.run();
                EXPECT_EQ(got, up_to(500));
                EXPECT_EQ(ch.size(), 0U);
            }
        }
    }
}

TEST(Batches, ThatFailHandBackTheRest) {
    enum class end { stop, deadline, close, take, closed_before };
    struct row {
        end how;
        exchange_errc why;
        std::size_t sent; ///< The items that the channel got.
        numbers left; ///< Of these, in the channel.
    };
    const row rows[]{
        {end::stop, exchange_errc::cancelled, 3, {1, 2}},
        {end::deadline, exchange_errc::timed_out, 3, {1, 2}},
        {end::close, exchange_errc::closed, 3, {1, 2}},
        {end::take, exchange_errc::closed, 3, {}},
        {end::closed_before, exchange_errc::closed, 0, {}},
    };
    for (const auto& [how, why, count, left] : rows) {
        SCOPED_TRACE(static_cast<int>(how));
        channel<int> ch(2);
        parties start;
        std::stop_source stop;
        numbers given = up_to(6);
        if (how == end::closed_before) {
            ch.close();
        }
        const auto sent = start([&] { return ch.send_all(given, 5ms, stop.get_token()); });
        if (count != 0) {
            EXPECT_TRUE(sent.waits());
            EXPECT_EQ(ch.try_receive(), 0);
        }
        if (how == end::stop) {
            stop.request_stop();
        } else if (how == end::deadline) {
            start.loop.advance(5ms);
        } else if (how == end::take) {
            EXPECT_EQ(all_of(ch.close_and_take()), (numbers{1, 2}));
        } else {
            ch.close();
        }
        start.run();
        ASSERT_EQ(sent.error(), why);
        const std::span<int> rest = sent->returned();
        EXPECT_EQ(rest.data(), given.data() + count);
        EXPECT_EQ(rest.size(), 6 - count);
        EXPECT_EQ(drain(ch), left);
    }
}

TEST(Batches, ThatDoNotWaitMoveWhatTheyCan) {
    channel<int> ch(3);
    numbers given = up_to(5);
    auto sent = ch.try_send_all(given);
    ASSERT_EQ(sent, exchange_errc::no_partner);
    EXPECT_EQ(sent.returned().data(), given.data() + 3);
    EXPECT_EQ(sent.returned().size(), 2U);
    EXPECT_TRUE(ch.try_send_all({}));
    EXPECT_EQ(ch.try_send_all(sent.returned()).returned().size(), 2U);
    numbers into(2, -1);
    EXPECT_EQ(ch.try_receive_some(into), 2U);
    EXPECT_EQ(into, (numbers{0, 1}));
    EXPECT_EQ(ch.try_receive_some(into), 1U);
    EXPECT_EQ(ch.try_receive_some(into).error(), exchange_errc::no_partner);

    parties start;
    const auto waits = start([&] { return ch.receive(); });
    EXPECT_TRUE(ch.try_send_all(given).returned().size() == 1);
    start.run();
    EXPECT_EQ(*waits, 0);
    ch.close();
    EXPECT_EQ(ch.try_send_all(given), exchange_errc::closed);
    EXPECT_EQ(ch.try_receive_some(into), 2U);
    EXPECT_EQ(ch.try_receive_some(into), 1U);
    EXPECT_EQ(ch.try_receive_some(into).error(), exchange_errc::closed);
}

TEST(ReceiveAll, AppendsAndReservesFirst) {
    channel<int> ch(3);
    numbers into{7};
    EXPECT_TRUE(ch.try_send(1));
    EXPECT_THROW(static_cast<void>(ch.receive_all(into, into.max_size())), std::length_error);
    EXPECT_THROW(static_cast<void>(ch.receive_all(into, unlimited)), std::length_error);
    EXPECT_EQ(into, numbers{7});
    EXPECT_EQ(ch.size(), 1U);
    EXPECT_EQ(sync_wait(ch.receive_all(into, 100)), 1U);
    EXPECT_GE(into.capacity(), 101U);
    EXPECT_EQ(into, (numbers{7, 1}));
    // Reserves in steps that grow, so that many small batches are linear.
    int moves = 0;
    for (int i = 0; i != 1'000; ++i) {
        EXPECT_TRUE(ch.try_send(i));
        const int* const at = into.data();
        EXPECT_EQ(sync_wait(ch.receive_all(into, 1)), 1U);
        moves += at != into.data() ? 1 : 0;
    }
    EXPECT_LE(moves, 20);
}

// ---- Close.

TEST(Close, HandsBackWhatComesLateAndLeavesWhatIsInside) {
    channel<int> ch(2);
    parties start;
    EXPECT_TRUE(ch.try_send(0));
    EXPECT_TRUE(ch.try_send(1));
    ch.close();
    ch.close();
    EXPECT_TRUE(ch.is_closed());
    ch.set_limit(9);
    auto tried = ch.try_send(3);
    EXPECT_EQ(tried, exchange_errc::closed);
    EXPECT_EQ(tried.returned(), 3);
    const auto late = start([&] { return ch.send(4); });
    ASSERT_EQ(*late, exchange_errc::closed);
    EXPECT_EQ(late->returned(), 4);
    EXPECT_EQ(sync_wait(ch.receive()), 0);
    EXPECT_EQ(ch.try_receive(), 1);
    EXPECT_EQ(ch.try_receive().error(), exchange_errc::closed);
    EXPECT_EQ(sync_wait(ch.receive()).error(), exchange_errc::closed);
    numbers into(2);
    EXPECT_EQ(sync_wait(ch.receive_some(into)).error(), exchange_errc::closed);
}

/// A close, or a cancellation, which keeps the channel open.
TEST(CloseOrCancel, EndsTheWaitsOfAll) {
    for (const bool closes : {false, true}) {
        SCOPED_TRACE(closes);
        const auto why = closes ? exchange_errc::closed : exchange_errc::cancelled;
        const auto end = [&](channel<int>& ch) { closes ? ch.close() : ch.cancel(); };
        channel<int> full(1);
        parties start;
        EXPECT_TRUE(full.try_send(0));
        numbers given = up_to(3);
        const auto one = start([&] { return full.send(1); });
        const auto many = start([&] { return full.send_all(given, 5ms); });
        end(full);
        start.run();
        EXPECT_EQ(one.error(), why);
        EXPECT_EQ(one->returned(), 1);
        EXPECT_EQ(many.error(), why);
        EXPECT_EQ(many->returned().size(), 3U);
        EXPECT_EQ(full.is_closed(), closes);
        EXPECT_EQ(drain(full), numbers{0});

        channel<int> empty(1);
        channel<int> other(0);
        numbers into(2);
        const auto receiver = start([&] { return empty.receive(); });
        const auto batch = start([&] { return empty.receive_some(into); });
        const auto met = start([&] { return select(empty.receive(), other.send(7)); });
        EXPECT_EQ(other.try_receive(), 7);
        const auto choice = start([&] { return select(empty.receive(), other.receive()); });
        end(empty);
        start.run();
        EXPECT_EQ(receiver.error(), why);
        EXPECT_EQ(batch.error(), why);
        EXPECT_EQ(choice->get<0>().error(), why);
        EXPECT_EQ(choice->get<1>().error(), exchange_errc::not_selected);
        EXPECT_EQ(other.try_send(8), exchange_errc::no_partner) << "the other case has left";
        EXPECT_EQ(met->index(), 1U);
        EXPECT_EQ(empty.try_send(4).has_value(), !closes);
    }
}

detached_coroutine receive_twice(channel<int>& ch, int& ended) {
    for (int i = 0; i != 2; ++i) {
        EXPECT_EQ((co_await ch.receive()).error(), exchange_errc::cancelled);
        ++ended;
    }
}

/// Otherwise it would not end.
TEST(Cancel, LeavesThoseThatComeLater) {
    channel<int> ch(1);
    int ended = 0;
    receive_twice(ch, ended);
    receive_twice(ch, ended);
    ch.cancel();
    EXPECT_EQ(ended, 2);
    ch.cancel();
    EXPECT_EQ(ended, 4);
    ch.cancel();
    EXPECT_TRUE(ch.try_send(1));
}

detached_coroutine cancelled_then_stops(channel<int>& ch, std::stop_source& stops) {
    EXPECT_EQ((co_await ch.send(1)).error(), exchange_errc::cancelled);
    stops.request_stop();
}

/// The last of those that a cancellation completes leaves, while another waits anew.
TEST(Cancel, APartyMayLeaveWhileItIsBeingCancelled) {
    channel<int> ch(1);
    EXPECT_TRUE(ch.try_send(0));
    std::stop_source stop;
    parties start;
    cancelled_then_stops(ch, stop);
    const auto last = start([&] { return ch.send(2, stop.get_token()); });
    ch.cancel();
    start.run();
    EXPECT_EQ(last.error(), exchange_errc::cancelled);
    EXPECT_EQ(last->returned(), 2);
    const auto next = start([&] { return ch.send(3); });
    EXPECT_EQ(drain(ch), (numbers{0, 3}));
    start.run();
    EXPECT_TRUE(next.ok());
}

detached_coroutine cancelled_then_closes(channel<int>& ch) {
    EXPECT_EQ((co_await ch.receive()).error(), exchange_errc::cancelled);
    ch.close();
}

TEST(Cancel, CancelsThoseThatWaitedThoughTheFirstClosesTheChannel) {
    channel<int> ch(1);
    parties start;
    cancelled_then_closes(ch);
    const auto next = start([&] { return ch.receive(); });
    ch.cancel();
    start.run();
    EXPECT_EQ(next.error(), exchange_errc::cancelled);
    EXPECT_TRUE(ch.is_closed());
}

TEST(Reset, OpensAClosedChannelAgain) {
    channel<int> ch(2);
    parties start;
    EXPECT_TRUE(ch.try_send(0));
    ch.close();
    EXPECT_EQ(ch.try_send(1), exchange_errc::closed);
    ch.reset();
    ch.reset();
    EXPECT_FALSE(ch.is_closed());
    EXPECT_TRUE(ch.try_send(2));
    EXPECT_EQ(drain(ch), (numbers{0, 2}));
    const auto waits = start([&] { return ch.receive(); });
    EXPECT_TRUE(waits.waits());
    EXPECT_TRUE(ch.try_send(3));
    start.run();
    EXPECT_EQ(*waits, 3);
    ch.close();
    EXPECT_EQ(ch.try_receive(), exchange_errc::closed);
}

TEST(Ready, IsAChannelThatHasAnItemOrASender) {
    channel<int> ch(0);
    parties start;
    EXPECT_FALSE(ch.ready());
    const auto sent = start([&] { return ch.send(1); });
    EXPECT_TRUE(ch.ready());
    EXPECT_EQ(drain(ch), numbers{1});
    EXPECT_FALSE(ch.ready());
    ch.set_limit(1);
    EXPECT_TRUE(ch.try_send(2));
    ch.close();
    EXPECT_TRUE(ch.ready());
    EXPECT_EQ(drain(ch), numbers{2});
    EXPECT_FALSE(ch.ready());
}

TEST(CloseAndTake, ReturnsWhatIsLeftOnce) {
    census items;
    channel<tracked> ch(100);
    parties start;
    for (int i = 0; i != 100; ++i) {
        EXPECT_TRUE(ch.try_send(tracked(items, i)));
    }
    const auto waits = start([&] { return ch.send(tracked(items, 100)); });
    {
        auto left = ch.close_and_take();
        start.run();
        EXPECT_EQ(waits.error(), exchange_errc::closed);
        EXPECT_EQ(waits->returned().id(), 100);
        EXPECT_EQ(ch.size(), 0U);
        EXPECT_EQ(ch.try_receive().error(), exchange_errc::closed);
        EXPECT_TRUE(ch.close_and_take().empty());
        EXPECT_EQ(left.size(), 100U);
        long next = 0;
        for (tracked& each : left) {
            EXPECT_EQ(each.id(), next);
            EXPECT_EQ(items.alive, 101 - next); // each is destroyed as the next is reached
            if (++next == 70) {
                break;
            }
        }
        EXPECT_EQ(left.size(), 31U);
        auto at = left.begin();
        EXPECT_EQ((*at).id(), 69);
        at++;
        EXPECT_EQ((*at).id(), 70);
        const auto moved = std::move(left);
        EXPECT_EQ(moved.size(), 30U);
    }
    EXPECT_EQ(items.alive, 1);
    static_assert(std::input_iterator<channel<int>::remaining::iterator>);
}

TEST(Destructor, PassesWhatIsLeftToItsFunction) {
    for (const bool has_function : {true, false}) {
        census items;
        std::vector<long> seen;
        const auto note = [&](tracked left) { seen.push_back(left.id()); };
        auto ch = has_function ? std::make_unique<channel<tracked>>(200U, note)
                               : std::make_unique<channel<tracked>>(200U);
        parties start;
        for (int i = 0; i != 150; ++i) {
            EXPECT_TRUE(ch->try_send(tracked(items, i)));
        }
        ch->set_limit(1);
        const auto waits = start([&] { return ch->send(tracked(items, 150)); });
        EXPECT_EQ(ch->try_receive()->id(), 0);
        ch.reset();
        start.run();
        EXPECT_EQ(waits->returned().id(), 150);
        EXPECT_EQ(items.alive, 1);
        ASSERT_EQ(seen.size(), has_function ? 149U : 0U);
        EXPECT_TRUE(std::ranges::is_sorted(seen));
    }
    channel<int> closed(3, [](int left) { EXPECT_EQ(left, 1); });
    EXPECT_TRUE(closed.try_send(1));
    closed.close();
}

// ---- Statistics, spans and names.

void expect_waiting(const statistics& seen, std::uint64_t waiting) {
    EXPECT_EQ(seen.arrivals, 2 * seen.exchanges + seen.ended() + waiting);
    EXPECT_EQ(seen.waiting, waiting);
}

TEST(StatisticsOfChannels, CountEachItemAndEachParty) {
    counters all;
    numbers given = up_to(5);
    numbers into;
    std::stop_source stop;
    {
        channel<int, counted> ch(2, all);
        parties start;
        const auto batch = start([&] { return ch.send_all(given, stop.get_token()); });
        expect_waiting(ch.stats(), 3); // the two items inside, and the sender
        EXPECT_EQ(ch.try_send(9).error(), exchange_errc::no_partner);
        EXPECT_EQ(ch.try_receive(), 0);
        EXPECT_EQ(sync_wait(ch.receive_all(into, 3)), 3U);
        expect_waiting(ch.stats(), 1);
        EXPECT_EQ(ch.stats().exchanges, 4U);
        EXPECT_EQ(drain(ch), numbers{4});
        expect_waiting(ch.stats(), 0);
        const auto receives = start([&] { return ch.receive_some(into, 5ms); });
        expect_waiting(ch.stats(), 1);
        EXPECT_TRUE(start([&] { return ch.send_all(given); }).ok());
        expect_waiting(ch.stats(), 2);
        const auto stopped = start([&] { return ch.send_all(given, stop.get_token()); });
        expect_waiting(ch.stats(), 3);
        stop.request_stop();
        start.run();
        EXPECT_EQ(ch.stats().cancellations, 1U);
        expect_waiting(ch.stats(), 2);
        const auto chooses = start([&] { return select(ch.send(1), 5ms); });
        expect_waiting(ch.stats(), 3);
        start.loop.advance(5ms);
        EXPECT_EQ(chooses->index(), select_npos);
        EXPECT_EQ(ch.stats().not_selected, 1U);
        const auto closed = start([&] { return ch.send(1); });
        EXPECT_EQ(ch.close_and_take().size(), 2U);
        start.run();
        EXPECT_EQ(ch.stats().closed, 3U); // the sender, and the items that were taken
        expect_waiting(ch.stats(), 0);
    }
    for (const bool has_function : {false, true}) {
        auto ch = has_function ? std::make_unique<channel<int, counted>>(
                                     9U, [](int) {}, all)
                               : std::make_unique<channel<int, counted>>(9U, all);
        EXPECT_TRUE(ch->try_send(1));
        ch->close();
        expect_waiting(all.stats(), 1);
        ch.reset();
        expect_waiting(all.stats(), 0);
    }
}

/// Another case was selected, but the party has not left the channel yet. (A case of a few that are
/// known at compile time would have.)
TEST(StatisticsOfChannels, CountACaseThatAnArrivalFindsTooLate) {
    channel<int, counted> ch(0);
    channel<int, counted> other(0);
    const std::array both{&ch, &other};
    parties start;
    start([&] { return select_from(both, [](auto* from) { return from->receive(); }); });
    EXPECT_TRUE(other.try_send(0));
    EXPECT_FALSE(ch.try_send(1));
    start.run();
    EXPECT_EQ(ch.stats().not_selected, 1U);
    expect_waiting(ch.stats(), 0);
}

TEST(SpansOfChannels, CoverTheWaitsOfBothSides) {
    logged_span::lines.clear();
    channel<int, traced<logged_span>, counted> ch(1);
    EXPECT_STREQ(ch.name(), "");
    ch.set_name("ch");
    EXPECT_STREQ(ch.name(), "ch");
    parties start;
    EXPECT_TRUE(ch.try_send(0));
    numbers given = up_to(2);
    const auto batch = start([&] { return ch.send_all(given); });
    const auto timed = start([&] { return ch.send(1, 5ms); });
    EXPECT_EQ(logged_span::alive, 2);
    start.loop.advance(5ms);
    EXPECT_EQ(drain(ch), (numbers{0, 0, 1}));
    start.run();
    EXPECT_EQ(logged_span::alive, 0);
    EXPECT_EQ(logged_span::lines,
              (std::vector<std::string>{
                  "ch: " + make_error_code(exchange_errc::timed_out).message(), "ch: exchanged"}));
}

// ---- Types of items.

/// Its assignments would fail.
struct unassignable {
    explicit unassignable(int given) noexcept : number(given) {}
    unassignable(unassignable&&) noexcept = default;
    unassignable(const unassignable&) { throw std::runtime_error("copied"); }
    unassignable& operator=(unassignable&&) = delete;
    ~unassignable() = default;
    int number;
};

TEST(Items, NeedOnlyAMove) {
    channel<unassignable> ch(2);
    std::vector<unassignable> given;
    given.reserve(3);
    for (int i = 0; i != 3; ++i) {
        given.emplace_back(i);
    }
    parties start;
    const auto sent = start([&] { return ch.send_all(given); });
    std::vector<unassignable> into;
    EXPECT_EQ(*start([&] { return ch.receive_all(into, 5); }), 3U);
    EXPECT_EQ(into[2].number, 2);
    EXPECT_TRUE(ch.try_send(unassignable(4)));
    EXPECT_EQ(ch.try_receive()->number, 4);

    channel<std::unique_ptr<int>> pointers(1);
    const auto got = start([&] { return pointers.receive(); });
    EXPECT_TRUE(pointers.try_send(std::make_unique<int>(5)));
    start.run();
    EXPECT_EQ(***got, 5);
    EXPECT_TRUE(pointers.try_send(nullptr));
    EXPECT_EQ(*pointers.try_send(std::make_unique<int>(6)).returned(), 6);

    channel<std::array<char, 5'000>> big(unlimited);
    for (char i = 0; i != 9; ++i) {
        EXPECT_TRUE(big.try_send({i}));
    }
    for (char i = 0; i != 9; ++i) {
        EXPECT_EQ((*big.try_receive())[0], i);
    }
}

// ---- Selections.

TEST(SelectOfChannels, KeepsTheItemsOfCasesThatLose) {
    census items;
    channel<tracked> full(1);
    channel<tracked> empty(1);
    parties start;
    EXPECT_TRUE(full.try_send(tracked(items, 0)));
    for (const bool waits : {true, false}) {
        const auto both =
            start([&] { return select(full.send(tracked(items, 1)), empty.receive()); });
        EXPECT_TRUE(both.waits());
        if (waits) {
            EXPECT_TRUE(empty.try_send(tracked(items, 2)));
            start.run();
            EXPECT_EQ(both->index(), 1U);
            EXPECT_EQ(both->get<1>()->id(), 2);
            EXPECT_EQ(both->get<0>().returned().id(), 1);
            EXPECT_EQ(full.size(), 1U);
        } else {
            EXPECT_EQ(full.try_receive()->id(), 0);
            start.run();
            EXPECT_EQ(both->index(), 0U);
            EXPECT_EQ(full.try_receive()->id(), 1);
        }
    }
    EXPECT_TRUE(empty.try_send(tracked(items, 3)));
    EXPECT_EQ(empty.size(), 1U); // no receiver is left there
    auto none = try_select(full.receive(), empty.send(tracked(items, 4)));
    EXPECT_EQ(none.get<1>().returned().id(), 4);
    EXPECT_EQ(none.get<0>().error(), exchange_errc::no_partner);
}

TEST(SelectOfChannels, TakesBatchesAsCases) {
    channel<int> one(4);
    channel<int> other(4);
    parties start;
    numbers some(3);
    numbers all;
    const auto choose = [&] { return select(one.receive_some(some), other.receive_all(all, 9)); };
    numbers given = up_to(4);
    EXPECT_TRUE(sync_wait(other.send_all(given)));
    const auto ready = start(choose);
    EXPECT_EQ(ready->index(), 1U);
    EXPECT_EQ(ready->get<1>(), 4U);
    EXPECT_EQ(all, up_to(4));
    const auto later = start(choose);
    EXPECT_TRUE(later.waits());
    EXPECT_TRUE(start([&] { return one.send_all(given); }).ok());
    EXPECT_EQ(later->index(), 0U);
    EXPECT_EQ(later->get<0>(), 3U);
    EXPECT_EQ(some, up_to(3));
    EXPECT_EQ(all.size(), 4U);
    EXPECT_EQ(drain(one), numbers{3});
}

TEST(SelectOfChannels, ThatMeetEachOtherExchangeOnce) {
    channel<int> left(0);
    channel<int> right(0);
    parties start;
    const auto sends = start([&] { return select(left.send(1), right.send(2)); });
    const auto takes = start([&] { return select(left.receive(), right.receive()); });
    ASSERT_FALSE(sends.waits() || takes.waits());
    EXPECT_EQ(sends->index(), takes->index());
    EXPECT_FALSE(left.try_send(3) || right.try_send(3) || left.try_receive() ||
                 right.try_receive());
    const auto closes = start([&] { return select(left.receive(), right.receive()); });
    right.close();
    start.run();
    EXPECT_EQ(closes->index(), 1U);
    EXPECT_EQ(closes->get<1>(), exchange_errc::closed);
}

TEST(SelectOfChannels, ASendThatLeavesTheHeadAdmitsTheOthers) {
    weighing ch(10);
    channel<int> other(1);
    parties start;
    EXPECT_TRUE(ch.try_send(6));
    const auto chooses = start([&] { return select(ch.send(9), other.receive()); });
    const auto light = start([&] { return ch.send(4); });
    EXPECT_TRUE(chooses.waits() && light.waits());
    EXPECT_TRUE(other.try_send(0));
    start.run();
    EXPECT_EQ(chooses->index(), 1U);
    EXPECT_TRUE(light.ok());
    EXPECT_EQ(drain(ch), (numbers{6, 4}));
}

TEST(SelectOfChannels, MayEndAfterTheChannel) {
    std::optional<channel<int>> ch(1);
    parties start;
    std::stop_source stop;
    const auto chooses = start([&] { return select(ch->receive(), stop.get_token()); });
    EXPECT_TRUE(chooses.waits());
    stop.request_stop(); // the party leaves the channel when it runs
    ch.reset();
    start.run();
    EXPECT_EQ(chooses->index(), select_npos);
}

// ---- Bare coroutines, which resume in the call that completes them.

detached_coroutine end_with(std::unique_ptr<channel<int>>& ch, auto make, std::error_code& how) {
    const auto got = co_await make();
    how = got.error();
    ch.reset();
}

TEST(InlineOfChannels, APartyMayDestroyTheChannelThatCompletesIt) {
    std::stop_source stop;
    const auto try_all = [&](bool sends, auto end, std::error_code expected) {
        auto ch = std::make_unique<channel<int>>(1);
        std::error_code how = exchange_errc::in_doubt;
        if (sends) {
            EXPECT_TRUE(ch->try_send(0));
            end_with(ch, [&] { return ch->send(1, stop.get_token()); }, how);
        } else {
            end_with(ch, [&] { return ch->receive(stop.get_token()); }, how);
        }
        ASSERT_NE(ch, nullptr);
        end(*ch);
        EXPECT_EQ(ch, nullptr);
        EXPECT_EQ(how, expected);
    };
    using given = channel<int>&;
    try_all(true, [](given ch) { EXPECT_EQ(ch.try_receive(), 0); }, {});
    try_all(true, [](given ch) { EXPECT_EQ(sync_wait(ch.receive()), 0); }, {});
    try_all(true, [](given ch) { ch.set_limit(2); }, {});
    try_all(true, [](given ch) { ch.close(); }, exchange_errc::closed);
    try_all(
        true, [](given ch) { EXPECT_EQ(all_of(ch.close_and_take()), numbers{0}); },
        exchange_errc::closed);
    try_all(false, [](given ch) { EXPECT_TRUE(ch.try_send(7)); }, {});
    try_all(false, [](given ch) { EXPECT_TRUE(sync_wait(ch.send(7))); }, {});
    try_all(false, [](given ch) { ch.close(); }, exchange_errc::closed);
    try_all(false, [&](given) { stop.request_stop(); }, exchange_errc::cancelled);
}

detached_coroutine destroy_when_all_have_ended(std::unique_ptr<channel<int>>& ch, int& waiting) {
    const auto sent = co_await ch->send(1);
    EXPECT_EQ(sent, exchange_errc::closed);
    if (--waiting == 0) {
        ch.reset();
    }
}

TEST(InlineOfChannels, TheLastWaiterMayDestroyTheChannelThatIsClosed) {
    auto ch = std::make_unique<channel<int>>(0);
    int waiting = 3;
    for (int i = 0; i != 3; ++i) {
        destroy_when_all_have_ended(ch, waiting);
    }
    ch->close();
    EXPECT_EQ(ch, nullptr);
}

detached_coroutine send_then_receive_all(channel<int>& ch, numbers& got) {
    const auto sent = co_await ch.send(1);
    EXPECT_EQ(sent, exchange_errc::closed);
    got = drain(ch);
}

/// While it is being closed, another party still waits.
TEST(InlineOfChannels, AChannelThatIsBeingClosedTakesNothing) {
    for (const std::size_t limit : {0U, 1U}) {
        channel<int> ch(limit);
        parties start;
        const bool has_item = ch.try_send(0).has_value();
        numbers got{9};
        send_then_receive_all(ch, got);
        const auto second = start([&] { return ch.send(2); });
        ch.close();
        start.run();
        EXPECT_EQ(got, has_item ? numbers{0} : numbers());
        EXPECT_EQ(second.error(), exchange_errc::closed);
        EXPECT_EQ(ch.size(), 0U);
    }
}

// ---- One thread.

/// What happened, in its order, in a random program of one thread with three channels.
template <class... Policies>
std::string story(std::uint64_t seed) {
    std::array<channel<int, Policies...>, 3> all{
        channel<int, Policies...>(0), channel<int, Policies...>(1), channel<int, Policies...>(3)};
    std::mt19937_64 random(seed);
    std::string told;
    parties start;
    const auto tell = [&told](int id, const auto& got) {
        told += std::to_string(id) + ": " + std::to_string(got.error().value());
        if constexpr (requires { static_cast<int>(*got); }) {
            told += got ? " " + std::to_string(*got) : "";
        }
        told += "\n";
    };
    const auto begin = [&]<class Make>(int id, Make make) {
        start.loop->spawn([](const auto& say, int own, Make made) -> task<> {
            auto got = co_await made();
            if constexpr (requires { got.index(); }) {
                say(own, got.template get<0>());
                say(own, got.template get<1>());
            } else {
                say(own, got);
            }
        }(tell, id, std::move(make)));
    };
    std::array<int, 4> places{};
    for (int i = 0; i != 300; ++i) {
        auto& a = all[random() % 3];
        auto& b = all[(static_cast<std::size_t>(&a - all.data()) + 1 + random() % 2) % 3];
        switch (random() % 16) {
        case 0:
        case 1:
            begin(i, [&a, i] { return a.send(i, 9ms); });
            break;
        case 2:
        case 3:
            begin(i, [&a] { return a.receive(9ms); });
            break;
        case 4:
            begin(i, [&a, &b, i] { return select_biased(a.send(i), b.receive(), 7ms); });
            break;
        case 5:
            begin(i, [&a, &b, i] { return select_biased(a.send(i), b.send(i)); });
            break;
        case 6:
            begin(i, [&a, &b] { return select_biased(a.receive(), b.receive()); });
            break;
        case 7:
            begin(i, [&a, &b] { return select_biased(b.receive(), a.receive(), 4ms); });
            break;
        case 8:
            begin(i, [&a, i] {
                return select_biased(a.send(i), a.send(-i)); // one of them takes part
            });
            break;
        case 9:
            tell(i, a.try_send(i));
            break;
        case 10:
            tell(i, a.try_receive());
            break;
        case 11:
            tell(i, a.try_receive_some(places));
            break;
        case 12:
            a.close();
            break;
        case 13:
            a.reset();
            break;
        case 14:
            a.set_limit(random() % 4);
            break;
        default:
            random() % 8 == 0 ? a.cancel() : start.loop.advance(3ms);
        }
        start.run();
        for (auto& each : all) {
            told += std::to_string(each.size()) + (each.ready() ? "! " : " ");
        }
    }
    for (auto& each : all) {
        each.close();
    }
    start.run();
    return told;
}

TEST(SingleThreaded, DoesWhatAChannelWithALockDoes) {
    for (std::uint64_t seed = 0; seed != 300; ++seed) {
        const std::string with_lock = story<>(seed);
        ASSERT_EQ(story<single_threaded>(seed), with_lock) << seed;
        ASSERT_EQ((story<single_threaded, weighted<itself>>(seed)), (story<weighted<itself>>(seed)))
            << seed;
        ASSERT_EQ((story<single_threaded, counted>(seed)), with_lock) << seed;
    }
}

TEST(SingleThreaded, MayBeMadeAndDestroyedOnOtherThreadsThanItsUser) {
    for (const std::size_t limit : {0U, 2U}) {
        channel<int, single_threaded> ch(limit);
        std::thread([&] { EXPECT_EQ(ch.try_send(1).has_value(), limit != 0); }).join();
    }
}

} // namespace
} // namespace tryst::test
