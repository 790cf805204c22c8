// SPDX-License-Identifier: MIT
// Fibers that suspend on one thread and resume on another.
#include "adapters/fiber/shared_fibers.hpp"

#include <tryst/fiber.hpp>
#include <tryst/tryst.hpp>

#include <boost/fiber/algo/shared_work.hpp>
#include <boost/fiber/algo/work_stealing.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

namespace {

using tryst::exchange_errc;
using tryst::exchanger;
using tryst::fiber::wait;
using tryst::test::share;
using tryst::test::this_thread;

/// Eight fibers on three threads exchange until `enough` waits, and as many selections, have ended
/// on another thread than they began on.
template <class Algorithm, class... Argument>
void exchange_and_move(int enough, Argument... argument) {
    constexpr int least = 200;
    constexpr int most = 10'000'000;
    exchanger<int> ex;
    exchanger<int> other;
    std::array<std::atomic<int>, 2> moved{};
    const auto all_moved = [&] { return moved[0].load() >= enough && moved[1].load() >= enough; };
    std::atomic<long> given{0};
    std::atomic<long> got{0};
    const auto party = [&](std::size_t i) {
        const auto mine = static_cast<int>(i) + 1;
        const auto self = boost::this_fiber::get_id();
        for (int round = 0;; ++round) {
            const auto before = this_thread();
            const bool selects = round % 2 == 0;
            const auto theirs = selects
                                    ? wait(tryst::select(ex.exchange(mine), other.exchange(mine)))
                                          .visit([](auto result) { return result; })
                                    : wait(ex.exchange(mine));
            EXPECT_EQ(boost::this_fiber::get_id(), self);
            if (!theirs) {
                EXPECT_EQ(theirs.error(), exchange_errc::closed);
                EXPECT_EQ(theirs.returned(), mine);
                break;
            }
            EXPECT_NE(*theirs, mine);
            moved[selects ? 1 : 0].fetch_add(this_thread() == before ? 0 : 1);
            given.fetch_add(mine);
            got.fetch_add(*theirs);
            if ((round >= least && all_moved()) || round == most) {
                ex.close();
            }
        }
    };
    share<Algorithm>(3, 8, party, argument...);
    EXPECT_TRUE(all_moved()) << "fibers have not changed threads within their waits";
    EXPECT_EQ(given.load(), got.load());
}

TEST(MigratingFiber, GoesOnOnAnyOfTheThreadsThatShareTheWork) {
    exchange_and_move<boost::fibers::algo::shared_work>(200);
}

// Once in a process: the threads of work_stealing cannot be replaced.
TEST(MigratingFiber, GoesOnOnTheThreadThatStoleIt) {
    exchange_and_move<boost::fibers::algo::work_stealing>(1, 3U); // only an idle thread steals
}

// The compiler assumes that a thread's id is constant within a function.
TEST(MigratingFiber, SeesInEachStepOfItsWaitTheThreadThatRunsIt) {
    constexpr int most = 1'000'000;
    std::atomic<int> asked{0};
    std::atomic<int> moved{0};
    share<boost::fibers::algo::shared_work>(3, 8, [&](std::size_t) {
        const auto ask = [&] {
            ++asked; // otherwise the step would be a constant
            return std::this_thread::get_id();
        };
        for (int round = 0; round != most && moved.load() < 200; ++round) {
            tryst::fiber::detail::wait_strategy in;
            const auto before = this_thread();
            EXPECT_EQ(in.step(ask), before);
            in.await_partner([] { return false; }, [] { return false; });
            const auto after = this_thread();
            EXPECT_EQ(in.step(ask), after);
            moved.fetch_add(before == after ? 0 : 1);
        }
    });
    EXPECT_GE(moved.load(), 200);
}

} // namespace
