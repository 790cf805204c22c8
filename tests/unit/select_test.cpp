// SPDX-License-Identifier: MIT
#include <tryst/select.hpp>

#include "support/started.hpp"
#include "support/tracked.hpp"

#include <tryst/exchanger.hpp>
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/synchronous_channel.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using swaps = exchanger<tracked>;
using line = synchronous_channel<tracked>;
using numbers = synchronous_channel<int>;

/// Two exchangers. A test with a parameter plays their roles both ways, because selections register
/// by address. Stops, deadlines and every order of steps are in wait_limit_test.cpp and
/// tests/model.
class Select : public testing::TestWithParam<bool> {
protected:
    tracked item(long id) { return {items_, id}; }
    swaps& place(std::size_t at) { return both_.at(GetParam() ? 1 - at : at); }

    template <class... Limits>
    auto two(Limits... limits) {
        return select(place(0).exchange(item(1)), place(1).exchange(item(2)), limits...);
    }
    auto start_two() {
        return start([this] { return two(); });
    }
    auto start_partner(std::size_t at) {
        return start([=, this] { return place(at).exchange(item(7)); });
    }

    /// The case `at` took place, or none; each other case failed because of `why`, and returned its
    /// item.
    template <class Result>
    void expect_selected(const Result& got, std::size_t at,
                         exchange_errc why = exchange_errc::not_selected) {
        EXPECT_EQ(got.index(), at);
        EXPECT_EQ(static_cast<bool>(got), at != select_npos);
        for (const std::size_t i : {0U, 1U}) {
            if (i != at) {
                EXPECT_EQ(got.get(i).error(), why);
                EXPECT_EQ(got.get(i).returned().id(), static_cast<long>(i + 1));
            }
            EXPECT_FALSE(place(i).try_exchange(item(9))) << "nobody waits";
        }
    }

    void TearDown() override {
        start.run();
        EXPECT_EQ(items_.alive, 0);
    }

    census items_;
    std::array<swaps, 2> both_;
    parties start;
};

INSTANTIATE_TEST_SUITE_P(BothWays, Select, testing::Bool());

TEST_P(Select, MeetsThePartnerThatComesBeforeOrAfter) {
    for (const std::size_t at : {0U, 1U}) {
        SCOPED_TRACE(at);
        const long own = at == 0 ? 1 : 2;
        const auto early = start_partner(at);
        const auto finds = start_two();
        start.run();
        ASSERT_TRUE(early.ok() && finds.ok());
        EXPECT_EQ((*early)->id(), own);
        expect_selected(*finds, at);

        const auto waits = start_two();
        const auto late = place(at).try_exchange(item(7));
        ASSERT_TRUE(late);
        EXPECT_EQ(late->id(), own);
        // The other case is decided, whether its owner has run or not.
        EXPECT_EQ(place(1 - at).try_exchange(item(8)).error(), exchange_errc::no_partner);
        start.run();
        ASSERT_TRUE(waits.ok());
        EXPECT_EQ(waits->get(at)->id(), 7);
        expect_selected(*waits, at);
    }
}

TEST_P(Select, EndsWithTheCaseThatIsClosed) {
    for (const bool before : {false, true}) { // then the poll finds it closed
        SCOPED_TRACE(before);
        const auto got = start_two();
        place(1).close();
        start.run();
        ASSERT_FALSE(got.waits());
        EXPECT_EQ(got->get(1).error(), exchange_errc::closed);
        EXPECT_EQ(got->get(1).returned().id(), 2);
        expect_selected(*got, 1);
    }
}

TEST_P(Select, PollsOnceIfItMustNotWait) {
    using clock = std::chrono::steady_clock;
    const auto poll = [this](int how) {
        return how == 0   ? sync_wait(two(0s))
               : how == 1 ? sync_wait(two(clock::time_point::min()))
                          : try_select(place(0).exchange(item(1)), place(1).exchange(item(2)));
    };
    for (const int how : {0, 1, 2}) {
        SCOPED_TRACE(how);
        expect_selected(poll(how), select_npos,
                        how == 2 ? exchange_errc::no_partner : exchange_errc::timed_out);
        start_partner(1);
        expect_selected(poll(how), 1);
    }
}

TEST(SelectCases, MayBeManyOfOneSideAndBothSidesOfDifferentChannels) {
    numbers ch;
    numbers other;
    EXPECT_FALSE(try_select(ch.receive(), other.send(1), ch.receive(), other.send(2)));
}

/// How often each of `size` cases is selected if partners wait at those that are `ready`.
/// @param select  selects once among channels. @returns the number of the case.
template <class Select>
std::vector<int> chances(std::size_t size, const std::vector<std::size_t>& ready, int rounds,
                         Select select) {
    run_loop loop;
    std::deque<numbers> channels(size);
    std::stop_source end;
    for (const std::size_t i : ready) {
        loop.spawn([](numbers& to, std::stop_token stop) -> task<> {
            while (co_await to.send(1, stop)) {
            }
        }(channels[i], end.get_token()));
    }
    std::vector<int> selected(size);
    for (int i = 0; i != rounds; ++i) {
        loop.run_until_idle();
        ++selected.at(select(channels));
    }
    end.request_stop();
    loop.run_until_idle();
    return selected;
}

/// Calls `f` in a new thread, where selections always draw the same random numbers.
template <class F>
void in_a_new_thread(F f) {
    std::thread(f).join();
}

/// Expects equal shares of `rounds` for those that are `ready`, within five standard deviations.
void expect_equal(const std::vector<int>& selected, const std::vector<std::size_t>& ready) {
    const double rounds = std::accumulate(selected.begin(), selected.end(), 0);
    const double share = 1 / static_cast<double>(ready.size());
    const double tolerance = 5 * std::sqrt(rounds * share * (1 - share));
    for (std::size_t i = 0; i != selected.size(); ++i) {
        const bool is_ready = std::ranges::count(ready, i) != 0;
        EXPECT_NEAR(selected[i], is_ready ? rounds * share : 0, is_ready ? tolerance : 0)
            << "case " << i << " of " << selected.size() << ", " << ready.size() << " ready";
    }
}

template <std::size_t... I>
std::size_t try_all_of(std::deque<numbers>& channels, std::index_sequence<I...> /*cases*/) {
    return try_select(channels[I].receive()...).index();
}

TEST(SelectChances, AreEqualForEachSetOfReadyCases) {
    in_a_new_thread([] {
        constexpr std::size_t size = 5;
        for (unsigned set = 1; set != 1U << size; ++set) {
            std::vector<std::size_t> ready;
            for (std::size_t i = 0; i != size; ++i) {
                if ((set >> i & 1U) != 0) {
                    ready.push_back(i);
                }
            }
            expect_equal(chances(size, ready, 2'000,
                                 [](auto& channels) {
                                     return try_all_of(channels, std::make_index_sequence<size>());
                                 }),
                         ready);
        }
    });
}

TEST(SelectChances, AreEqualInARange) {
    in_a_new_thread([] {
        const auto select = [](std::deque<numbers>& channels) {
            const auto receive = [](numbers& from) { return from.receive(); };
            return sync_wait(select_from(channels, receive)).index();
        };
        const auto test = [&](std::size_t size, const std::vector<std::size_t>& ready) {
            expect_equal(chances(size, ready, 10'000, select), ready);
        };
        test(3, {0, 1, 2});
        test(16, {0, 7, 8, 15}); // the last number that one random word is enough for
        test(17, {8, 9, 10});
        test(64, {30, 31, 32});
        test(255, {100, 101, 102, 103, 104});
        test(255, {0, 127, 254});
    });
}

// Whatever else the thread selects, in whatever pattern.
TEST(SelectChances, AreEqualInEachPhaseOfAPattern) {
    in_a_new_thread([] {
        for (const std::size_t others : {1U, 2U, 3U, 15U}) {
            numbers never;
            expect_equal(chances(3, {0, 1, 2}, 5'000,
                                 [&](auto& channels) {
                                     for (std::size_t i = 0; i != others; ++i) {
                                         EXPECT_FALSE(try_select(never.receive()));
                                     }
                                     return try_all_of(channels, std::make_index_sequence<3>());
                                 }),
                         {0, 1, 2});
        }
    });
}

// The partner comes after the poll.
TEST(SelectChances, AreEqualAmongCasesOfOneExchangerUnlessBiased) {
    in_a_new_thread([] {
        const auto test = [](int rounds, const std::vector<std::size_t>& ready, auto make) {
            std::vector<int> selected(3);
            parties start;
            numbers ch;
            numbers never;
            for (int i = 0; i != rounds; ++i) {
                const auto got = start([&] { return make(ch, never); });
                ASSERT_TRUE(ch.try_send(7));
                start.run();
                ++selected.at(got->index());
            }
            expect_equal(selected, ready);
        };
        test(3'000, {0, 1, 2}, [](auto& ch, auto& never) {
            return select(ch.receive(), ch.receive(), ch.receive(), never.receive());
        });
        test(3'000, {0, 1, 2}, [](auto& ch, auto& never) {
            const std::array all{&ch, &ch, &ch, &never};
            return select_from(all, [](auto* from) { return from->receive(); });
        });
        test(10, {0}, [](auto& ch, auto&) { return select_biased(ch.receive(), ch.receive()); });
    });
}

/// The results of selections of `receive` and `exchange`, whose items have one type.
class SelectVisit : public testing::Test {
protected:
    tracked item(long id) { return {items_, id}; }

    /// @param at  the case that takes place. Its partner brings the item 7.
    auto select(std::size_t at) {
        if (at == 0) {
            start([this] { return to_.send(item(7)); });
        } else {
            start([this] { return at_.exchange(item(7)); });
        }
        auto got = try_select(to_.receive(), at_.exchange(item(1)));
        start.run();
        EXPECT_EQ(got.index(), at);
        return got;
    }

    census items_;
    line to_;
    swaps at_;
    parties start;
};

TEST_F(SelectVisit, PassesTheResultAsItIsAndReturnsWhatItsFunctionReturns) {
    for (const std::size_t at : {0U, 1U}) {
        auto got = select(at);
        const auto category = []<class Result>(Result&&) { // NOLINT(*-missing-std-forward)
            return std::pair{std::is_lvalue_reference_v<Result>,
                             std::is_const_v<std::remove_reference_t<Result>>};
        };
        EXPECT_EQ(got.visit(category), std::pair(true, false));
        EXPECT_EQ(std::as_const(got).visit(category), std::pair(true, true));
        EXPECT_EQ(std::move(got).visit(category), std::pair(false, false));

        tracked& inside = got.visit([](auto& won) -> tracked& { return *won; });
        EXPECT_EQ(&inside,
                  &std::as_const(got).visit([](auto& won) -> const tracked& { return *won; }));
        static_assert(std::is_void_v<decltype(got.visit([](const auto&) {}))>);
        const auto owner = std::move(got).visit([](auto&& won) {
            return std::make_unique<tracked>(*std::forward<decltype(won)>(won));
        });
        EXPECT_EQ(owner->id(), 7);
    }
}

TEST_F(SelectVisit, ReturnsResultsOfOneItemType) {
    for (const std::size_t at : {0U, 1U}) {
        auto got = select(at);
        auto won = std::move(got).visit(std::identity());
        static_assert(std::is_same_v<decltype(won), exchange_result<tracked, void>>);
        ASSERT_TRUE(won);
        EXPECT_EQ(won->id(), 7);
    }
    // Results of one type: no copy, and no move.
    auto same = try_select(to_.receive(), to_.receive());
    static_assert(std::is_same_v<decltype(std::move(same).visit(std::identity())),
                                 exchange_result<tracked, void>&&>);
    static_assert(
        std::is_same_v<decltype(same.visit(std::identity())), exchange_result<tracked, void>&>);
}

TEST_F(SelectVisit, LeavesAnItemThatWasHandedBack) {
    to_.close();
    numbers other;
    auto got = try_select(to_.send(item(1)), other.send(1));
    auto won = std::move(got).visit(std::identity());
    static_assert(std::is_same_v<decltype(won), exchange_result<void, void>>);
    EXPECT_EQ(won.error(), exchange_errc::closed);
    // NOLINTNEXTLINE(bugprone-use-after-move): it has not been moved.
    EXPECT_EQ(got.get<0>().returned().id(), 1);
}

template <class Venue>
class SelectOrders : public testing::Test {};

using venues = testing::Types<red_blue_exchanger<int, std::string, order::fifo>,
                              red_blue_exchanger<int, std::string, order::lifo>>;
TYPED_TEST_SUITE(SelectOrders, venues);

// Also in a channel whose arena is in use, where most arrivals do not look at the wait list first.
TYPED_TEST(SelectOrders, PrefersTheFirstCaseWithAnArena) {
    TypeParam a;
    TypeParam b;
    for (TypeParam* const each : {&a, &b}) { // pairs that cross threads make the arena grow
        std::thread partner([each] {
            for (int i = 0; i != 2'000; ++i) {
                EXPECT_TRUE(sync_wait(each->blue("")));
            }
        });
        for (int i = 0; i != 2'000; ++i) {
            EXPECT_TRUE(sync_wait(each->red(i)));
        }
        partner.join();
    }
    parties start;
    for (int i = 0; i != 20; ++i) {
        start([&] { return a.blue("a"); });
        start([&] { return b.blue("b"); });
        if (i % 2 == 0) {
            EXPECT_EQ(sync_wait(select_biased(b.red(1), a.red(2))).index(), 0U);
            EXPECT_TRUE(a.try_red(3));
        } else {
            EXPECT_EQ(sync_wait(select_biased(a.red(1), b.red(2))).index(), 0U);
            EXPECT_TRUE(b.try_red(3));
        }
        start.run();
    }
}

// A waiter of a selection that has been decided hides no other one.
TYPED_TEST(SelectOrders, LooksBehindAStaleWaiter) {
    TypeParam urgent;
    TypeParam ordinary;
    TypeParam elsewhere;
    parties start;
    const std::array places{&elsewhere, &urgent};
    const auto selects = [&] {
        return select_from(places, [](TypeParam* place) { return place->blue("stale"); });
    };
    const auto waits = [&] { return urgent.blue("live"); };
    constexpr bool last_comes_first =
        std::is_same_v<TypeParam, red_blue_exchanger<int, std::string, order::lifo>>;
    started<decltype(waits().await_resume())> live;
    if (last_comes_first) {
        live = start(waits);
    }
    const auto decided = start(selects);
    if (!last_comes_first) {
        live = start(waits);
    }
    start([&] { return ordinary.blue("other"); });
    ASSERT_TRUE(elsewhere.try_red(1)); // decides; the loop has not run it yet
    EXPECT_EQ(sync_wait(select_biased(urgent.red(2), ordinary.red(3))).index(), 0U);
    EXPECT_TRUE(ordinary.try_red(4));
    start.run();
    EXPECT_TRUE(live.ok());
    ASSERT_TRUE(decided.ok());
    EXPECT_EQ(decided->index(), 0U);
}

class SelectFrom : public testing::Test {
protected:
    SelectFrom() {
        for (int i = 0; i != 40; ++i) {
            rooms_.push_back(std::make_unique<line>());
        }
    }

    tracked item(long id) { return {items_, id}; }

    static auto receive_from(const std::unique_ptr<line>& room) { return room->receive(); }

    census items_;
    std::vector<std::unique_ptr<line>> rooms_;
};

TEST_F(SelectFrom, TakesAnyCase) {
    parties start;
    for (std::size_t i = 0; i != rooms_.size(); ++i) {
        const auto got = start([&] { return select_from(rooms_, receive_from); });
        EXPECT_TRUE(got.waits());
        ASSERT_TRUE(rooms_[i]->try_send(item(7)));
        start.run();
        ASSERT_TRUE(got.ok());
        EXPECT_EQ(got->index(), i);
        EXPECT_EQ(got->size(), rooms_.size());
        EXPECT_EQ((*got)[(i + 1) % rooms_.size()].error(), exchange_errc::not_selected);
        EXPECT_EQ(got->get()->id(), 7);
        for (const auto& room : rooms_) {
            EXPECT_FALSE(room->try_send(item(8)));
        }
    }
}

TEST_F(SelectFrom, ReturnsTheItemsOfAllOthers) {
    long next = 0;
    std::stop_source stop;
    auto waiting =
        select_from(rooms_, [&](auto& room) { return room->send(item(next++)); }, stop.get_token());
    EXPECT_EQ(items_.alive.load(), 40);
    stop.request_stop();
    auto got = sync_wait(waiting);
    EXPECT_FALSE(got);
    for (std::size_t i = 0; i != got.size(); ++i) {
        auto each = got[i];
        EXPECT_EQ(each.error(), exchange_errc::cancelled);
        EXPECT_EQ(each.returned().id(), static_cast<long>(i));
    }
}

TEST_F(SelectFrom, LosesNothingIfItCannotBegin) {
    EXPECT_THROW(static_cast<void>(select_from(std::vector<std::unique_ptr<line>>(), receive_from)),
                 std::invalid_argument);
    long next = 0;
    EXPECT_THROW(static_cast<void>(select_from(rooms_,
                                               [&](auto& room) {
                                                   if (next == 3) {
                                                       throw std::runtime_error("enough");
                                                   }
                                                   return room->send(item(next++));
                                               })),
                 std::runtime_error);
    std::stop_source stop; // whose state a leak checker would miss
    EXPECT_THROW(static_cast<void>(select_from(
                     rooms_,
                     [](const std::unique_ptr<line>& room) {
                         if (room) {
                             throw std::runtime_error("at once");
                         }
                         return room->receive();
                     },
                     stop.get_token())),
                 std::runtime_error);
    EXPECT_EQ(items_.alive.load(), 0);
    EXPECT_FALSE(rooms_[0]->try_receive());
}

} // namespace
} // namespace tryst::test
