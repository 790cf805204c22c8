// SPDX-License-Identifier: MIT
// 2N participants form N pairs: none is left out, none meets itself, and nothing is received twice.
#include <tryst/exchanger.hpp>

#include "support/insides.hpp"
#include "support/loop_thread.hpp"
#include "support/tracked.hpp"

#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::test::grow;
using tryst::test::tracked;
using exchanger = tryst::exchanger<tracked>;

constexpr long pending = -2;
constexpr long failed = -3;

/// Who met whom; each participant writes its own entry.
class ledger {
public:
    explicit ledger(std::size_t participants) : partners_(participants, pending) {}

    void note(long id, const tryst::exchange_result<tracked>& got) {
        partners_.at(static_cast<std::size_t>(id)) = got ? got->id() : failed;
        if (!got) {
            EXPECT_EQ(got.returned().id(), id);
        }
        ended.fetch_add(1);
    }

    /// @returns how many did not find a partner.
    long expect_pairs() const {
        long left_out = 0;
        for (std::size_t i = 0; i != partners_.size(); ++i) {
            const long partner = partners_[i];
            if (partner == failed) {
                ++left_out;
                continue;
            }
            EXPECT_GE(partner, 0);
            EXPECT_NE(partner, static_cast<long>(i));
            if (partner >= 0) {
                EXPECT_EQ(partners_.at(static_cast<std::size_t>(partner)), static_cast<long>(i));
            }
        }
        return left_out;
    }

    std::atomic<long> ended{0};

private:
    std::vector<long> partners_;
};

tryst::task<> meet(exchanger& ex, tracked mine, ledger& all) {
    const long id = mine.id();
    all.note(id, co_await ex.exchange(std::move(mine)));
}

TEST(Pairs, OfAnyNumberFormOnOneLoop) {
    for (const long participants : {1L, 2L, 3L, 64L, 65L, 1'000L, 1'001L}) {
        for (const int slots : {0, 1, 3}) {
            tryst::test::census census;
            exchanger ex(3);
            grow(ex, slots);
            ledger all(static_cast<std::size_t>(participants));
            tryst::run_loop loop;
            for (long id = 0; id != participants; ++id) {
                loop.spawn(meet(ex, tracked(census, id), all));
            }
            loop.run_until_idle();
            EXPECT_EQ(all.ended, participants / 2 * 2);
            EXPECT_EQ(tryst::test::waits_in_list(ex), participants % 2 == 1);
            ex.close();
            loop.run_until_idle();
            EXPECT_EQ(all.expect_pairs(), participants % 2);
            EXPECT_EQ(census.alive, 0);
        }
    }
}

TEST(Pairs, OfAnyNumberFormOnTwoLoops) {
    for (const long participants : {2L, 3L, 200L, 201L}) {
        for (int round = 0; round != 30; ++round) {
            tryst::test::census census;
            exchanger ex(2);
            grow(ex, round % 3);
            ledger all(static_cast<std::size_t>(participants));
            {
                tryst::test::loop_thread here;
                tryst::test::loop_thread there;
                for (long id = 0; id != participants; ++id) {
                    (id % 2 == 0 ? here : there)->spawn(meet(ex, tracked(census, id), all));
                }
                while (all.ended < participants / 2 * 2) {
                    std::this_thread::yield();
                }
                if (participants % 2 == 1) {
                    tryst::test::until_someone_waits(ex);
                }
                ex.close();
                here.join();
                there.join();
                here->run_until_idle();
                there->run_until_idle();
            }
            EXPECT_EQ(all.expect_pairs(), participants % 2);
            EXPECT_EQ(census.alive, 0);
        }
    }
}

TEST(Pairs, OfAnyNumberFormBetweenThreads) {
    for (const long participants : {2L, 3L, 8L, 9L}) {
        for (int round = 0; round != 30; ++round) {
            tryst::test::census census;
            exchanger ex(2);
            grow(ex, round % 3);
            ledger all(static_cast<std::size_t>(participants));
            std::vector<std::thread> threads;
            for (long id = 0; id != participants; ++id) {
                threads.emplace_back(
                    [&, id] { all.note(id, tryst::sync_wait(ex.exchange(tracked(census, id)))); });
            }
            while (all.ended < participants / 2 * 2) {
                std::this_thread::yield();
            }
            if (participants % 2 == 1) {
                tryst::test::until_someone_waits(ex);
            }
            ex.close();
            for (std::thread& each : threads) {
                each.join();
            }
            EXPECT_EQ(all.expect_pairs(), participants % 2);
            EXPECT_EQ(census.alive, 0);
        }
    }
}

tryst::task<> meet_often(exchanger& ex, tryst::test::census& census, long id, int times,
                         std::atomic<long>& sum, std::atomic<int>& running) {
    for (int i = 0; i != times; ++i) {
        auto got = co_await ex.exchange(tracked(census, id));
        if (!got) {
            EXPECT_EQ(got.error(), exchange_errc::closed);
            EXPECT_EQ(got.returned().id(), id);
            break;
        }
        EXPECT_NE(got->id(), id);
        sum += got->id() - id; // what one gains, its partner loses
    }
    if (--running == 0) {
        ex.close(); // nobody is left to wait for
    }
}

TEST(Pairs, FormAgainAndAgainAndConserveWhatTheySwap) {
    constexpr int coroutines = 16;
    constexpr int times = 200;
    tryst::test::census census;
    exchanger ex(2);
    std::atomic<long> sum{0};
    std::atomic<int> running{coroutines};
    {
        tryst::test::loop_thread here;
        tryst::test::loop_thread there;
        for (int i = 0; i != coroutines; ++i) {
            (i % 2 == 0 ? here : there)->spawn(meet_often(ex, census, i, times, sum, running));
        }
        // Whoever is last may lack a partner, for as many times as it has left.
        while (running > 0) {
            static_cast<void>(ex.try_exchange(tracked(census, 1'000)));
            std::this_thread::yield();
        }
        here.join();
        there.join();
    }
    EXPECT_TRUE(ex.is_closed());
    EXPECT_EQ(census.alive, 0);
}

tryst::task<> try_alone(exchanger& ex, tracked mine, bool& swapped) {
    auto got = ex.try_exchange(std::move(mine));
    swapped = got.has_value();
    co_return;
}

TEST(TryExchange, NeverMeetsAnotherTry) {
    tryst::test::census census;
    exchanger ex(2);
    grow(ex, 2);
    tryst::run_loop loop;
    bool first = true;
    bool second = true;
    loop.spawn(try_alone(ex, tracked(census, 1), first));
    loop.spawn(try_alone(ex, tracked(census, 2), second));
    loop.run_until_idle();
    EXPECT_FALSE(first);
    EXPECT_FALSE(second);
    auto got = ex.try_exchange(tracked(census, 3));
    EXPECT_EQ(got.error(), exchange_errc::no_partner);
    EXPECT_EQ(got.returned().id(), 3);
    EXPECT_FALSE(tryst::test::waits_in_list(ex) || tryst::test::waits_in_arena(ex));
}

TEST(TryExchange, TakesEachWaiterOnce) {
    tryst::test::census census;
    exchanger ex(2);
    ledger all(1);
    tryst::run_loop loop;
    loop.spawn(meet(ex, tracked(census, 0), all));
    loop.run_until_idle();
    EXPECT_TRUE(ex.try_exchange(tracked(census, 5)));
    EXPECT_FALSE(ex.try_exchange(tracked(census, 6)));
    loop.run_until_idle();
    EXPECT_EQ(all.ended, 1);
}

} // namespace
