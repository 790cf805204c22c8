// SPDX-License-Identifier: MIT
#include <tryst/select.hpp>

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
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::select_npos;
using tryst::sync_wait;
using tryst::task;
using tryst::test::tracked;
using exchanger = tryst::exchanger<tracked>;
using channel = tryst::synchronous_channel<tracked>;
using plain_channel = tryst::synchronous_channel<int>;

/// Awaits what `make` makes, on a loop.
template <class Result, class Make>
task<> keep(std::optional<Result>& got, Make make) {
    got.emplace(co_await make());
}

/// Two exchangers. A test with a parameter plays their roles both ways, because selections register
/// by address. Stops, deadlines and every order of steps are in wait_limit_test.cpp and
/// tests/model.
struct Select : testing::TestWithParam<bool> {
    using result =
        tryst::select_result<tryst::exchange_result<tracked>, tryst::exchange_result<tracked>>;

    tracked item(long id) { return {items_, id}; }

    template <class... Limits>
    auto two(Limits... limits) {
        return tryst::select(a_.exchange(item(1)), b_.exchange(item(2)), std::move(limits)...);
    }

    /// A party that waits at `at`, the first exchanger or the second.
    void wait_at(std::size_t at) {
        loop_.spawn(keep(partner_, [=, this] { return (at == 0 ? a_ : b_).exchange(item(7)); }));
        loop_.run_until_idle();
    }
    void select_on_loop() {
        loop_.spawn(keep(got_, [this] { return two(); }));
        loop_.run_until_idle();
    }

    /// The case `at` took place, or none; each other case failed because of `why`, and returned its
    /// item.
    void expect_selected(std::size_t at, exchange_errc why = exchange_errc::not_selected) {
        ASSERT_TRUE(got_);
        EXPECT_EQ(got_->index(), at);
        EXPECT_EQ(static_cast<bool>(*got_), at != select_npos);
        const auto expect_lost = [&](const tryst::exchange_result<tracked>& lost, long own) {
            EXPECT_EQ(lost.error(), why);
            EXPECT_EQ(lost.returned().id(), own);
        };
        if (at != 0) {
            expect_lost(got_->get<0>(), 1);
        }
        if (at != 1) {
            expect_lost(got_->get<1>(), 2);
        }
        got_.reset();
        for (exchanger* const each : {&a_, &b_}) {
            EXPECT_NE(each->try_exchange(item(9)).error(), std::error_code()) << "nobody waits";
        }
    }

    void TearDown() override {
        loop_.run_until_idle();
        partner_.reset();
        EXPECT_EQ(items_.alive.load(), 0);
    }

    tryst::test::census items_;
    std::array<exchanger, 2> both_;
    exchanger& a_ = both_[GetParam() ? 1 : 0];
    exchanger& b_ = both_[GetParam() ? 0 : 1];
    std::optional<result> got_;
    std::optional<tryst::exchange_result<tracked>> partner_;
    tryst::run_loop loop_;
};

INSTANTIATE_TEST_SUITE_P(BothWays, Select, testing::Bool());

TEST_P(Select, MeetsThePartnerThatComesBeforeOrAfter) {
    for (const std::size_t at : {0U, 1U}) {
        SCOPED_TRACE(at);
        wait_at(at);
        select_on_loop();
        ASSERT_TRUE(partner_ && *partner_);
        EXPECT_EQ((**partner_).id(), at == 0 ? 1 : 2);
        expect_selected(at);

        select_on_loop();
        auto late = (at == 0 ? a_ : b_).try_exchange(item(7));
        ASSERT_TRUE(late);
        EXPECT_EQ(late->id(), at == 0 ? 1 : 2);
        // The other case is decided, whether its owner has run or not.
        EXPECT_EQ((at == 0 ? b_ : a_).try_exchange(item(8)).error(), exchange_errc::no_partner);
        loop_.run_until_idle();
        ASSERT_TRUE(got_);
        EXPECT_EQ((at == 0 ? got_->get<0>() : got_->get<1>())->id(), 7);
        expect_selected(at);
    }
}

TEST_P(Select, EndsWithTheCaseThatIsClosed) {
    for (const bool before : {false, true}) { // then the poll finds it closed
        SCOPED_TRACE(before);
        select_on_loop();
        b_.close();
        loop_.run_until_idle();
        ASSERT_TRUE(got_);
        EXPECT_EQ(got_->get<1>().error(), exchange_errc::closed);
        EXPECT_EQ(got_->get<1>().returned().id(), 2);
        expect_selected(1);
    }
}

TEST_P(Select, PollsOnceIfItMustNotWait) {
    using clock = std::chrono::steady_clock;
    const auto poll = [this](int how) {
        return how == 0   ? sync_wait(two(0s))
               : how == 1 ? sync_wait(two(clock::time_point::min()))
                          : tryst::try_select(a_.exchange(item(1)), b_.exchange(item(2)));
    };
    for (const int how : {0, 1, 2}) {
        SCOPED_TRACE(how);
        got_.emplace(poll(how));
        expect_selected(select_npos,
                        how == 2 ? exchange_errc::no_partner : exchange_errc::timed_out);
        wait_at(1);
        got_.emplace(poll(how));
        expect_selected(1);
    }
}

/// How often each of `size` cases is selected if partners wait at those that are `ready`.
/// @param select  selects once among channels. @returns the number of the case.
template <class Select>
std::vector<int> chances(std::size_t size, const std::vector<std::size_t>& ready, int rounds,
                         Select select) {
    tryst::run_loop loop;
    std::deque<plain_channel> channels(size);
    std::stop_source end;
    for (const std::size_t i : ready) {
        loop.spawn([](plain_channel& to, std::stop_token stop) -> task<> {
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
std::size_t try_all_of(std::deque<plain_channel>& channels, std::index_sequence<I...> /*cases*/) {
    return tryst::try_select(channels[I].receive()...).index();
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
        const auto select = [](std::deque<plain_channel>& channels) {
            const auto receive = [](plain_channel& from) { return from.receive(); };
            return sync_wait(tryst::select_from(channels, receive)).index();
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
            plain_channel never;
            expect_equal(chances(3, {0, 1, 2}, 5'000,
                                 [&](auto& channels) {
                                     for (std::size_t i = 0; i != others; ++i) {
                                         EXPECT_FALSE(tryst::try_select(never.receive()));
                                     }
                                     return try_all_of(channels, std::make_index_sequence<3>());
                                 }),
                         {0, 1, 2});
        }
    });
}

// The partner comes after the poll.
TEST(SelectChances, AreEqualAmongCasesOfOneExchanger) {
    in_a_new_thread([] {
        const auto test = [](auto select) {
            std::vector<int> selected(3);
            tryst::run_loop loop;
            plain_channel ch;
            plain_channel never;
            for (int i = 0; i != 3'000; ++i) {
                std::size_t index = select_npos;
                loop.spawn([](auto& made, auto& a, auto& b, auto& result) -> task<> {
                    auto got = co_await made(a, b);
                    result = got.index();
                }(select, ch, never, index));
                loop.run_until_idle();
                ASSERT_TRUE(ch.try_send(7));
                loop.run_until_idle();
                ++selected.at(index);
            }
            expect_equal(selected, {0, 1, 2});
        };
        test([](auto& ch, auto& never) {
            return tryst::select(ch.receive(), ch.receive(), ch.receive(), never.receive());
        });
        test([](auto& ch, auto& never) {
            const std::array all{&ch, &ch, &ch, &never};
            return tryst::select_from(all, [](auto* from) { return from->receive(); });
        });
    });
}

TEST(SelectBiased, OffersTheFirstCaseOnOneExchanger) {
    tryst::run_loop loop;
    plain_channel ch;
    for (int i = 0; i != 10; ++i) {
        std::optional<tryst::select_result<tryst::exchange_result<int, void>,
                                           tryst::exchange_result<int, void>>>
            got;
        loop.spawn(keep(got, [&] { return tryst::select_biased(ch.receive(), ch.receive()); }));
        loop.run_until_idle();
        ASSERT_TRUE(ch.try_send(7));
        loop.run_until_idle();
        ASSERT_TRUE(got);
        EXPECT_EQ(got->index(), 0U);
    }
}

#ifndef NDEBUG
TEST(SelectDeath, OnBothSidesOfAnExchanger) {
    plain_channel ch;
    plain_channel other;
    EXPECT_DEATH(static_cast<void>(tryst::select(ch.send(1), ch.receive())), "both sides");
    EXPECT_DEATH(
        static_cast<void>(tryst::try_select(ch.receive(), other.send(1), ch.receive(), ch.send(1))),
        "both sides");
    // What is no mistake: many cases of one side, and both sides of different channels.
    EXPECT_FALSE(tryst::try_select(ch.receive(), other.send(1), ch.receive(), other.send(2)));
}

TEST(SelectDeath, AwaitedTwice) {
    tryst::exchanger<int> ex;
    EXPECT_DEATH(
        {
            auto once = tryst::select(ex.exchange(1), 0s);
            static_cast<void>(sync_wait(once));
            static_cast<void>(sync_wait(once));
        },
        "only once");
}

TEST(SelectDeath, OfAnExchangeThatWasAwaited) {
    tryst::exchanger<int> ex;
    EXPECT_DEATH(
        {
            ex.close();
            auto before = ex.exchange(1);
            static_cast<void>(sync_wait(before));
            static_cast<void>(tryst::select(std::move(before)));
        },
        "cannot be passed on");
}
#endif

/// The results of selections of `receive` and `exchange`, whose items have one type.
struct SelectVisit : testing::Test {
    tracked item(long id) { return {items_, id}; }

    /// @param at  the case that takes place. Its partner brings the item 7.
    auto select(std::size_t at) {
        if (at == 0) {
            loop_.spawn(keep(sent_, [this] { return ch_.send(item(7)); }));
        } else {
            loop_.spawn(keep(swapped_, [this] { return ex_.exchange(item(7)); }));
        }
        loop_.run_until_idle();
        auto got = tryst::try_select(ch_.receive(), ex_.exchange(item(1)));
        loop_.run_until_idle();
        EXPECT_EQ(got.index(), at);
        return got;
    }

    tryst::test::census items_;
    channel ch_;
    exchanger ex_;
    std::optional<tryst::exchange_result<void, tracked>> sent_;
    std::optional<tryst::exchange_result<tracked>> swapped_;
    tryst::run_loop loop_;
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
        static_assert(std::is_same_v<decltype(won), tryst::exchange_result<tracked, void>>);
        ASSERT_TRUE(won);
        EXPECT_EQ(won->id(), 7);
    }
    // Results of one type: no copy, and no move.
    auto same = tryst::try_select(ch_.receive(), ch_.receive());
    static_assert(std::is_same_v<decltype(std::move(same).visit(std::identity())),
                                 tryst::exchange_result<tracked, void>&&>);
    static_assert(std::is_same_v<decltype(same.visit(std::identity())),
                                 tryst::exchange_result<tracked, void>&>);
}

TEST_F(SelectVisit, LeavesAnItemThatWasHandedBack) {
    ch_.close();
    plain_channel numbers;
    auto got = tryst::try_select(ch_.send(item(1)), numbers.send(1));
    auto won = std::move(got).visit(std::identity());
    static_assert(std::is_same_v<decltype(won), tryst::exchange_result<void, void>>);
    EXPECT_EQ(won.error(), exchange_errc::closed);
    // NOLINTNEXTLINE(bugprone-use-after-move): it has not been moved.
    EXPECT_EQ(got.get<0>().returned().id(), 1);
}

template <class Venue>
class SelectOrders : public testing::Test {};

using venues = testing::Types<tryst::red_blue_exchanger<int, std::string, tryst::order::fifo>,
                              tryst::red_blue_exchanger<int, std::string, tryst::order::lifo>>;
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
    tryst::run_loop loop;
    std::optional<tryst::exchange_result<int, std::string>> first;
    std::optional<tryst::exchange_result<int, std::string>> second;
    for (int i = 0; i != 20; ++i) {
        loop.spawn(keep(first, [&] { return a.blue("a"); }));
        loop.spawn(keep(second, [&] { return b.blue("b"); }));
        loop.run_until_idle();
        if (i % 2 == 0) {
            EXPECT_EQ(sync_wait(tryst::select_biased(b.red(1), a.red(2))).index(), 0U);
            EXPECT_TRUE(a.try_red(3));
        } else {
            EXPECT_EQ(sync_wait(tryst::select_biased(a.red(1), b.red(2))).index(), 0U);
            EXPECT_TRUE(b.try_red(3));
        }
        loop.run_until_idle();
    }
}

// A waiter of a selection that has been decided hides no other one.
TYPED_TEST(SelectOrders, LooksBehindAStaleWaiter) {
    TypeParam urgent;
    TypeParam ordinary;
    TypeParam elsewhere;
    tryst::run_loop loop;
    const std::array places{&elsewhere, &urgent};
    const auto offer = [](TypeParam* place) { return place->blue("stale"); };
    using result = decltype(tryst::select_from(places, offer).await_resume());
    std::optional<result> decided;
    std::optional<tryst::exchange_result<int, std::string>> live;
    std::optional<tryst::exchange_result<int, std::string>> other;
    const auto selects = [&] {
        loop.spawn(keep(decided, [&] { return tryst::select_from(places, offer); }));
        loop.run_until_idle();
    };
    const auto waits = [&] {
        loop.spawn(keep(live, [&] { return urgent.blue("live"); }));
        loop.run_until_idle();
    };
    const bool last_comes_first =
        std::is_same_v<TypeParam, tryst::red_blue_exchanger<int, std::string, tryst::order::lifo>>;
    if (last_comes_first) {
        waits();
    }
    selects();
    if (!last_comes_first) {
        waits();
    }
    loop.spawn(keep(other, [&] { return ordinary.blue("other"); }));
    loop.run_until_idle();
    ASSERT_TRUE(elsewhere.try_red(1)); // decides; the loop has not run it yet
    EXPECT_EQ(sync_wait(tryst::select_biased(urgent.red(2), ordinary.red(3))).index(), 0U);
    EXPECT_TRUE(ordinary.try_red(4));
    loop.run_until_idle();
    EXPECT_TRUE(live && *live && decided && decided->index() == 0U);
}

class SelectFrom : public testing::Test {
protected:
    SelectFrom() {
        for (int i = 0; i != 40; ++i) {
            rooms_.push_back(std::make_unique<channel>());
        }
    }

    tracked item(long id) { return {items_, id}; }

    static auto receive_from(const std::unique_ptr<channel>& room) { return room->receive(); }

    tryst::test::census items_;
    std::vector<std::unique_ptr<channel>> rooms_;
    tryst::run_loop loop_;
};

TEST_F(SelectFrom, TakesAnyCase) {
    using result = decltype(tryst::select_from(rooms_, receive_from).await_resume());
    for (std::size_t i = 0; i != rooms_.size(); ++i) {
        std::optional<result> got;
        loop_.spawn(keep(got, [&] { return tryst::select_from(rooms_, receive_from); }));
        loop_.run_until_idle();
        EXPECT_FALSE(got);
        ASSERT_TRUE(rooms_[i]->try_send(item(7)));
        loop_.run_until_idle();
        ASSERT_TRUE(got);
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
    auto waiting = tryst::select_from(
        rooms_, [&](auto& room) { return room->send(item(next++)); }, stop.get_token());
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
    EXPECT_THROW(static_cast<void>(
                     tryst::select_from(std::vector<std::unique_ptr<channel>>(), receive_from)),
                 std::invalid_argument);
    long next = 0;
    EXPECT_THROW(static_cast<void>(tryst::select_from(rooms_,
                                                      [&](auto& room) {
                                                          if (next == 3) {
                                                              throw std::runtime_error("enough");
                                                          }
                                                          return room->send(item(next++));
                                                      })),
                 std::runtime_error);
    std::stop_source stop; // whose state a leak checker would miss
    EXPECT_THROW(static_cast<void>(tryst::select_from(
                     rooms_,
                     [](const std::unique_ptr<channel>& room) {
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
