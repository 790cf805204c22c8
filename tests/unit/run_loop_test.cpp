// SPDX-License-Identifier: MIT
#include <tryst/run_loop.hpp>

#include <tryst/exchanger.hpp>
#include <tryst/result.hpp>
#include <tryst/sync_wait.hpp>

#include "support/executor_end.hpp"
#include "support/insides.hpp"
#include "support/loop_thread.hpp"
#include "support/manual_clock.hpp"
#include "support/tracked.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <latch>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using tryst::current_executor;
using tryst::exchange_errc;
using tryst::exchanger;
using tryst::executor_node;
using tryst::run_loop;
using tryst::run_loop_options;
using tryst::task;
using tryst::test::census;
using tryst::test::executor_end;
using tryst::test::loop_thread;
using tryst::test::manual_clock;
using tryst::test::manual_loop;
using tryst::test::timed_loop;
using tryst::test::tracked;
using namespace std::chrono_literals;

constexpr run_loop_options sleep_at_once{.max_spins = 0};

/// A node that writes its number into a log.
struct logging_node : executor_node {
    logging_node(std::vector<int>& to, int own) : log(&to), number(own) {
        run = [](executor_node* node) noexcept {
            auto& self = static_cast<logging_node&>(*node);
            self.log->push_back(self.number);
        };
    }
    std::vector<int>* log;
    int number;
};

task<> append(std::vector<int>& log, int number) {
    log.push_back(number);
    co_return;
}

task<> increment(int& count) {
    ++count;
    co_return;
}

template <class Loop>
task<> take_turns(Loop& loop, std::string& log, char name, int turns) {
    for (int i = 0; i != turns; ++i) {
        log += name;
        co_await loop.schedule();
    }
}

/// Keeps `loop` busy for so many turns.
template <class Loop>
task<> spin_for(Loop& loop, int turns) {
    for (int i = 0; i != turns; ++i) {
        co_await loop.schedule();
    }
}

task<> stop_loop(run_loop& loop) {
    loop.stop();
    co_return;
}

task<> fail() {
    throw std::runtime_error("left the task");
    co_return;
}

} // namespace

// ---- The queue

TEST(RunLoopQueue, RunsTasksInTheOrderOfTheirSpawning) {
    run_loop loop;
    std::vector<int> log;
    for (int i = 0; i != 5; ++i) {
        loop.spawn(append(log, i));
    }
    EXPECT_TRUE(log.empty()) << "spawn ran a task inline";
    loop.run_until_idle();
    EXPECT_EQ(log, (std::vector{0, 1, 2, 3, 4}));
}

TEST(RunLoopQueue, LetsRescheduledTasksTakeTurns) {
    run_loop loop;
    std::string log;
    for (const char name : {'a', 'b', 'c'}) {
        loop.spawn(take_turns(loop, log, name, 3));
    }
    loop.run_until_idle();
    EXPECT_EQ(log, "abcabcabc");
}

TEST(RunLoopQueue, RunsWhatARunningTaskSpawnsAfterWhatWasQueuedBefore) {
    run_loop loop;
    std::vector<int> log;
    loop.spawn([](run_loop& loop, std::vector<int>& log) -> task<> {
        loop.spawn(append(log, 3));
        log.push_back(1);
        co_return;
    }(loop, log));
    loop.spawn(append(log, 2));
    loop.run_until_idle();
    EXPECT_EQ(log, (std::vector{1, 2, 3}));
}

TEST(RunLoopQueue, KeepsTheOrderOfMailFromAnotherThread) {
    constexpr int count = 1'000;
    run_loop loop;
    std::vector<int> log;
    std::vector<int> expected;
    std::vector<logging_node> nodes;
    for (int i = 0; i != count; ++i) {
        nodes.emplace_back(log, i);
        expected.push_back(i);
    }
    std::thread poster([&] {
        for (logging_node& node : nodes) {
            loop.post(&node);
        }
        loop.stop();
    });
    loop.run();
    poster.join();
    EXPECT_EQ(log, expected);
}

TEST(RunLoopQueue, RunsATaskThatAnotherThreadSpawned) {
    loop_thread thread;
    tryst::executor_ref seen;
    thread->spawn([](tryst::executor_ref& seen) -> task<> {
        seen = current_executor();
        co_return;
    }(seen));
    thread.join();
    EXPECT_EQ(seen, thread->executor());
}

TEST(RunLoopQueue, TakesMailWhileItIsBusy) {
    // Nothing but mail from another thread ends this task, which never lets the loop go idle.
    run_loop loop;
    bool done = false;
    std::latch busy(1);
    loop.spawn([](run_loop& loop, bool& done, std::latch& busy) -> task<> {
        busy.count_down();
        while (!done) {
            co_await loop.schedule();
        }
    }(loop, done, busy));
    std::thread other([&] {
        busy.wait();
        loop.spawn([](bool& done) -> task<> {
            done = true;
            co_return;
        }(done));
    });
    loop.run_until_idle();
    other.join();
    EXPECT_TRUE(done);
}

TEST(RunLoopQueue, CountsTheNodesItHasRun) {
    run_loop loop;
    std::string log;
    EXPECT_EQ(loop.run_until_idle(), 0U);
    loop.spawn(take_turns(loop, log, 'a', 4)); // its start and four turns
    loop.spawn(take_turns(loop, log, 'b', 0));
    EXPECT_EQ(loop.run_until_idle(), 6U);
    EXPECT_EQ(loop.run_until_idle(), 0U);
}

TEST(RunLoopQueue, KnowsOnWhichThreadItRuns) {
    loop_thread thread;
    EXPECT_FALSE(thread->running_here());
    bool inside = false;
    thread->spawn([](run_loop& loop, bool& inside) -> task<> {
        inside = loop.running_here();
        co_return;
    }(*thread, inside));
    thread.join();
    EXPECT_TRUE(inside);
}

// ---- Stopping

TEST(RunLoopStop, BeforeRunMakesRunReturnAfterWhatWasQueuedBefore) {
    run_loop loop;
    int count = 0;
    loop.spawn(increment(count));
    loop.stop();
    loop.run();
    EXPECT_EQ(count, 1);
}

TEST(RunLoopStop, LeavesWhatWasQueuedAfterItReady) {
    run_loop loop;
    std::vector<int> log;
    loop.spawn(stop_loop(loop));
    loop.spawn(append(log, 1));
    loop.run(); // stop() is queued behind this task, and before what it makes ready
    EXPECT_EQ(log, (std::vector{1}));
    loop.spawn([](run_loop& loop, std::vector<int>& log) -> task<> {
        loop.stop();
        co_await loop.schedule();
        log.push_back(2);
    }(loop, log));
    loop.run();
    EXPECT_EQ(log, (std::vector{1}));
    EXPECT_EQ(loop.run_until_idle(), 1U);
    EXPECT_EQ(log, (std::vector{1, 2}));
}

TEST(RunLoopStop, TwiceStopsOneRun) {
    run_loop loop;
    loop.stop();
    loop.stop();
    loop.run();
    std::string log;
    loop.spawn([](run_loop& loop, std::string& log) -> task<> {
        co_await take_turns(loop, log, 'a', 3);
        loop.stop();
    }(loop, log));
    loop.run();
    EXPECT_EQ(log, "aaa") << "the second stop ended the second run";
}

TEST(RunLoopStop, LeavesTheLoopReadyToRunAgain) {
    run_loop loop;
    std::string log;
    for (int i = 0; i != 3; ++i) {
        loop.spawn([](run_loop& loop, std::string& log) -> task<> {
            co_await take_turns(loop, log, 'a', 2);
            loop.stop();
        }(loop, log));
        loop.run();
    }
    EXPECT_EQ(log, "aaaaaa");
}

TEST(RunLoopStop, FromAnotherThreadEndsALoopThatSleeps) {
    for (int round = 0; round != 500; ++round) {
        run_loop loop(sleep_at_once);
        std::thread stopper([&loop] { loop.stop(); });
        loop.run();
        stopper.join();
    }
}

TEST(RunLoopStop, OfALoopMetByRunUntilIdleIsKeptForRun) {
    run_loop loop;
    int count = 0;
    loop.spawn(stop_loop(loop));
    loop.spawn(increment(count));
    loop.run_until_idle();
    EXPECT_EQ(count, 1) << "run_until_idle runs all that is ready";
    loop.spawn(increment(count));
    loop.run();
    EXPECT_EQ(count, 1) << "the stop was kept";
    loop.run_until_idle();
    EXPECT_EQ(count, 2);
}

TEST(RunLoopStop, IsCountedAsANode) {
    run_loop loop;
    int count = 0;
    loop.spawn(increment(count));
    loop.stop();
    EXPECT_EQ(loop.run(), 2U);
}

TEST(RunLoopStop, ThatRacesWithTheEndOfARunIsServedByThatRunOrTheNext) {
    constexpr int runs = 3'000;
    run_loop loop;
    std::atomic<bool> finished{false};
    std::thread stopper([&] {
        while (!finished.load(std::memory_order_relaxed)) {
            loop.stop();
        }
    });
    int count = 0;
    for (int i = 0; i != runs; ++i) {
        loop.spawn(increment(count));
        loop.run();
    }
    finished.store(true, std::memory_order_relaxed);
    stopper.join();
    loop.run_until_idle();
    EXPECT_EQ(count, runs);
}

// ---- Timers

namespace {

template <class Duration>
task<> log_timeout(exchanger<int>& ex, int number, Duration patience, std::vector<int>& log) {
    auto got = co_await ex.exchange(number, patience);
    EXPECT_EQ(got.error(), exchange_errc::timed_out);
    log.push_back(got.returned());
}

} // namespace

TEST(RunLoopTimers, AreDueAtTheirDeadlineAndNotBefore) {
    timed_loop loop;
    exchanger<int> ex;
    std::vector<int> log;
    loop->spawn(log_timeout(ex, 1, 10ns, log));
    loop->run_until_idle();
    EXPECT_TRUE(log.empty());
    loop.advance(9ns);
    EXPECT_TRUE(log.empty());
    loop.advance(1ns);
    EXPECT_EQ(log, (std::vector{1}));
}

TEST(RunLoopTimers, FireInTheOrderOfTheirDeadlinesThoughAllAreDueAtOnce) {
    constexpr int count = 300;
    timed_loop loop;
    std::vector<std::unique_ptr<exchanger<int>>>
        meetings; // one for each, so that none finds a partner
    std::vector<int> patience;
    for (int i = 0; i != count; ++i) {
        patience.push_back(i);
    }
    std::mt19937 random(1);
    std::shuffle(patience.begin() + 1, patience.end(), random);
    std::vector<int> log;
    for (const int each : patience) {
        meetings.push_back(std::make_unique<exchanger<int>>());
        loop->spawn(log_timeout(*meetings.back(), each, std::chrono::nanoseconds(each), log));
    }
    loop.advance(0ns);
    EXPECT_EQ(log, (std::vector{0}));
    loop.advance(std::chrono::nanoseconds(count / 2));
    EXPECT_EQ(log.size(), 1U + count / 2);
    loop.advance(std::chrono::nanoseconds(count));
    std::ranges::sort(patience);
    EXPECT_EQ(log, patience);
}

TEST(RunLoopTimers, AreDisarmedByAPartnerThatCame) {
    timed_loop loop;
    exchanger<int> ex;
    int item = 0;
    loop->spawn([](exchanger<int>& ex, int& item) -> task<> {
        auto got = co_await ex.exchange(1, 10ns);
        item = got ? *got : -1;
    }(ex, item));
    loop->run_until_idle();
    EXPECT_TRUE(ex.try_exchange(2));
    loop->run_until_idle();
    EXPECT_EQ(item, 2);
    loop.advance(1h); // the frame in which the timer was is gone
    EXPECT_EQ(item, 2);
}

TEST(RunLoopTimers, LoseToAPartnerWhoCameFirstThoughTheLoopHasNotSeenIt) {
    timed_loop loop;
    exchanger<int> ex;
    int item = 0;
    loop->spawn([](exchanger<int>& ex, int& item) -> task<> {
        auto got = co_await ex.exchange(1, 10ns);
        item = got ? *got : -1;
    }(ex, item));
    loop->run_until_idle();
    EXPECT_TRUE(ex.try_exchange(2));
    loop.advance(1h); // now both the match and the timer are due
    EXPECT_EQ(item, 2);
}

TEST(RunLoopTimers, FireWithinABoundedNumberOfNodesWhileTheLoopIsBusy) {
    manual_clock::dial dial;
    manual_loop loop({}, manual_clock(dial));
    exchanger<int> ex;
    std::vector<int> log;
    int turns_after_deadline = 0;
    loop.spawn(log_timeout(ex, 1, 10ns, log));
    loop.spawn([](manual_loop& loop, manual_clock::dial& dial, const std::vector<int>& log,
                  int& turns_after_deadline) -> task<> {
        co_await spin_for(loop, 1'000);
        EXPECT_TRUE(log.empty());
        dial.time += 10ns;
        while (log.empty()) {
            ++turns_after_deadline;
            co_await loop.schedule();
        }
    }(loop, dial, log, turns_after_deadline));
    loop.run_until_idle();
    EXPECT_EQ(log, (std::vector{1}));
    EXPECT_LE(turns_after_deadline, 70);
}

TEST(RunLoopTimers, OfALoopThatDoesNotRunAreNotFired) {
    timed_loop loop;
    exchanger<int> ex;
    std::vector<int> log;
    loop->spawn(log_timeout(ex, 1, 10ns, log));
    loop->run_until_idle();
    {
        run_loop other;
        other.spawn(append(log, 2));
        other.run_until_idle();
    }
    EXPECT_EQ(log, (std::vector{2}));
    loop.advance(10ns);
    EXPECT_EQ(log, (std::vector{2, 1}));
}

// ---- Destruction

namespace {

/// Marks its frame: alive from the call to the destruction, whether it starts or not.
template <class Loop>
task<> park_in_queue(Loop& loop, tracked) {
    while (true) {
        co_await loop.schedule();
    }
}

task<> do_nothing_with(tracked) {
    co_return;
}

task<> park_in(exchanger<tracked>& ex, tracked mark, tracked item) {
    auto got = co_await ex.exchange(std::move(item));
    ADD_FAILURE() << "resumed after " << mark.id() << " was destroyed: " << got.error().message();
}

template <class Duration>
task<> park_for(exchanger<tracked>& ex, tracked mark, tracked item, Duration patience,
                std::stop_token stop) {
    auto got = co_await ex.exchange(std::move(item), patience, std::move(stop));
    ADD_FAILURE() << "resumed after " << mark.id() << " was destroyed: " << got.error().message();
}

} // namespace

TEST(RunLoopDestruction, FreesTheFramesOfTasksThatNeverStarted) {
    census kept;
    {
        run_loop loop;
        loop.spawn(do_nothing_with(tracked(kept, 1)));
        loop.spawn(do_nothing_with(tracked(kept, 2)));
        std::thread([&] { loop.spawn(do_nothing_with(tracked(kept, 3))); }).join();
        EXPECT_EQ(kept.alive, 3);
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(RunLoopDestruction, FreesTheFramesOfTasksThatWereSpawnedByARunningOneAndNeverStarted) {
    census kept;
    {
        run_loop loop;
        loop.spawn([](run_loop& loop, census& kept) -> task<> {
            loop.stop();
            co_await loop.schedule();
            loop.spawn(do_nothing_with(tracked(kept, 1)));
        }(loop, kept));
        loop.run();
        loop.stop();
        loop.run();
        EXPECT_EQ(kept.alive, 1);
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(RunLoopDestruction, FreesFramesThatWaitForTheirTurn) {
    census kept;
    {
        run_loop loop;
        for (int i = 0; i != 3; ++i) {
            loop.spawn(park_in_queue(loop, tracked(kept, i)));
        }
        loop.spawn(stop_loop(loop));
        loop.run();
        EXPECT_EQ(kept.alive, 3);
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(RunLoopDestruction, WithdrawsTheOffersOfFramesThatWaitInAnExchanger) {
    census kept;
    exchanger<tracked> ex;
    {
        run_loop loop;
        loop.spawn(park_in(ex, tracked(kept, 1), tracked(kept, 2)));
        loop.run_until_idle();
        EXPECT_EQ(kept.alive, 2);
    }
    EXPECT_EQ(kept.alive, 0);
    EXPECT_EQ(ex.try_exchange(tracked(kept, 3)).error(), exchange_errc::no_partner);
}

TEST(RunLoopDestruction, WithdrawsTheOffersOfFramesThatWaitWithADeadlineAndAStop) {
    census kept;
    exchanger<tracked> ex;
    std::stop_source stop;
    {
        timed_loop loop;
        loop->spawn(park_for(ex, tracked(kept, 1), tracked(kept, 2), 10ns, stop.get_token()));
        loop->run_until_idle();
        EXPECT_EQ(kept.alive, 2);
    }
    EXPECT_EQ(kept.alive, 0);
    stop.request_stop(); // must find nobody
    EXPECT_EQ(ex.try_exchange(tracked(kept, 3)).error(), exchange_errc::no_partner);
}

TEST(RunLoopDestruction, WithdrawsOffersThatHaveNotWaitedForATurnYet) {
    census kept;
    exchanger<tracked> ex;
    {
        run_loop loop;
        loop.spawn(park_in(ex, tracked(kept, 1), tracked(kept, 2)));
        loop.stop();
        loop.run();
        EXPECT_EQ(kept.alive, 2);
    }
    {
        run_loop loop;
        loop.spawn(park_for(ex, tracked(kept, 1), tracked(kept, 2), 24h, std::stop_token()));
        loop.stop();
        loop.run();
        EXPECT_EQ(kept.alive, 2);
    }
    EXPECT_EQ(kept.alive, 0);
    EXPECT_EQ(ex.try_exchange(tracked(kept, 3)).error(), exchange_errc::no_partner);
}

TEST(RunLoopDestruction, MayComeAfterThatOfAnExchangerInWhichAFrameHasJustMadeAnOffer) {
    census kept;
    {
        run_loop loop;
        auto ex = std::make_unique<exchanger<tracked>>();
        loop.spawn(park_for(*ex, tracked(kept, 1), tracked(kept, 2), 24h, std::stop_token()));
        loop.stop();
        loop.run(); // the offer is made, and its turn is not over
        ex.reset();
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(RunLoopDestruction, MayComeAfterThatOfAnExchangerInWhoseArenaAFrameHasMadeAnOffer) {
    census kept;
    {
        run_loop loop;
        auto ex = std::make_unique<exchanger<tracked>>(1);
        tryst::test::grow(*ex);
        loop.spawn(park_in(*ex, tracked(kept, 1), tracked(kept, 2)));
        loop.stop();
        loop.run();
        EXPECT_TRUE(tryst::test::waits_in_arena(*ex));
        ex.reset();
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(RunLoopDestruction, FreesFramesWhoseResumptionIsQueued) {
    census kept;
    exchanger<tracked> ex;
    {
        run_loop loop;
        loop.spawn(park_in(ex, tracked(kept, 1), tracked(kept, 2)));
        loop.run_until_idle();
        auto got = ex.try_exchange(tracked(kept, 3));
        ASSERT_TRUE(got);
        EXPECT_EQ(got->id(), 2);
        EXPECT_EQ(kept.alive, 3);
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(RunLoopDestruction, FreesFramesWhoseTimeoutOrStopIsQueued) {
    census kept;
    exchanger<tracked> ex;
    std::stop_source stop;
    {
        run_loop loop;
        loop.spawn(park_for(ex, tracked(kept, 1), tracked(kept, 2), 24h, stop.get_token()));
        loop.run_until_idle();
        stop.request_stop();
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(RunLoopDestruction, MayComeAfterThatOfTheExchangerInWhichItsFramesWait) {
    census kept;
    {
        run_loop loop;
        auto ex = std::make_unique<exchanger<tracked>>();
        loop.spawn(park_in(*ex, tracked(kept, 1), tracked(kept, 2)));
        loop.spawn(do_nothing_with(tracked(kept, 3)));
        loop.run_until_idle();
        loop.spawn(park_in(*ex, tracked(kept, 4), tracked(kept, 5))); // never starts
        ex.reset();
        EXPECT_EQ(kept.alive, 4);
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(RunLoopDestruction, FreesAFrameThatOwnsTheExchangerAndThoseThatWaitInIt) {
    const auto own = [](exchanger<tracked>*& published, tracked, run_loop& loop) -> task<> {
        exchanger<tracked> ex;
        published = &ex;
        while (true) {
            co_await loop.schedule();
        }
    };
    const auto wait = [](exchanger<tracked>*& published, tracked mark, tracked item,
                         run_loop& loop) -> task<> {
        while (published == nullptr) {
            co_await loop.schedule();
        }
        co_await park_in(*published, std::move(mark), std::move(item));
    };
    for (const bool owner_first : {true, false}) {
        census kept;
        exchanger<tracked>* published = nullptr;
        {
            run_loop loop;
            if (owner_first) {
                loop.spawn(own(published, tracked(kept, 1), loop));
            }
            loop.spawn(wait(published, tracked(kept, 2), tracked(kept, 3), loop));
            if (!owner_first) {
                loop.spawn(own(published, tracked(kept, 1), loop));
            }
            loop.spawn([](run_loop& loop) -> task<> {
                co_await spin_for(loop, 5);
                loop.stop();
            }(loop));
            loop.run();
            EXPECT_EQ(kept.alive, 3);
        }
        EXPECT_EQ(kept.alive, 0);
    }
}

TEST(RunLoopDestruction, FreesWhatADyingFrameSpawns) {
    struct spawner {
        run_loop* loop;
        census* kept;
        spawner(run_loop& on, census& in) : loop(&on), kept(&in) {}
        spawner(const spawner&) = delete;
        spawner& operator=(const spawner&) = delete;
        ~spawner() { loop->spawn(do_nothing_with(tracked(*kept, 1))); }
    };
    census kept;
    {
        run_loop loop;
        loop.spawn([](run_loop& loop, census& kept) -> task<> {
            const spawner on_death(loop, kept);
            loop.stop();
            co_await loop.schedule();
        }(loop, kept));
        loop.run();
        EXPECT_EQ(kept.created, 0);
    }
    EXPECT_EQ(kept.created, 1);
    EXPECT_EQ(kept.alive, 0);
}

struct ending_loop {
    run_loop& on() { return *loop; }
    void settle() { loop->run_until_idle(); }
    void end() { loop.reset(); }
    std::optional<run_loop> loop{std::in_place};
};

TEST(RunLoopDestruction, LeavesNothingToADyingLoop) {
    executor_end<ending_loop>::check();
}

TEST(RunLoopDestruction, FreesAnArmedTimerThatIsDueButHasNotFired) {
    census kept;
    exchanger<tracked> ex;
    {
        manual_clock::dial dial;
        manual_loop loop({}, manual_clock(dial));
        loop.spawn(park_for(ex, tracked(kept, 1), tracked(kept, 2), 10ns, std::stop_token()));
        loop.run_until_idle();
        dial.time += 1h;
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(RunLoopDestruction, LeavesTheMailOfOthersAlone) {
    // A foreign node is not the loop's to free; the loop only must not run it.
    std::vector<int> log;
    std::vector<logging_node> nodes{{log, 1}};
    {
        run_loop loop;
        loop.post(nodes.data());
    }
    EXPECT_TRUE(log.empty());
}

TEST(RunLoopDestruction, WithdrawsOffersThatPartnersElsewhereAreClaimingAtThisMoment) {
    constexpr long enough = 2'000;
    constexpr int waiters = 3; // an odd number, so that one always waits for the partner elsewhere
    census kept;
    exchanger<tracked> ex;
    std::atomic<bool> finished{false};
    std::atomic<long> matched{0};
    std::thread partner([&] {
        while (!finished.load(std::memory_order_relaxed)) {
            matched += ex.try_exchange(tracked(kept, 0)) ? 1 : 0;
        }
    });
    while (matched.load(std::memory_order_relaxed) < enough) {
        run_loop loop;
        for (int i = 0; i != waiters; ++i) {
            loop.spawn([](exchanger<tracked>& ex, census& kept) -> task<> {
                while (true) {
                    static_cast<void>(co_await ex.exchange(tracked(kept, 1)));
                }
            }(ex, kept));
        }
        loop.spawn([](run_loop& loop) -> task<> {
            co_await spin_for(loop, 10);
            loop.stop();
        }(loop));
        loop.run();
    }
    finished.store(true, std::memory_order_relaxed);
    partner.join();
    EXPECT_EQ(kept.alive, 0);
}

// ---- Several loops

TEST(RunLoopNesting, LetsACoroutineOfOneLoopRunAnother) {
    run_loop outer;
    run_loop inner;
    std::vector<int> log;
    outer.spawn([](run_loop& outer, run_loop& inner, std::vector<int>& log) -> task<> {
        inner.spawn([](run_loop& outer, std::vector<int>& log) -> task<> {
            log.push_back(1);
            outer.spawn(append(log, 3));
            co_return;
        }(outer, log));
        EXPECT_EQ(inner.run_until_idle(), 1U);
        log.push_back(2);
        co_return;
    }(outer, inner, log));
    outer.run_until_idle();
    EXPECT_EQ(log, (std::vector{1, 2, 3}));
}

TEST(RunLoopNesting, PairsWaitersOfTwoLoopsOfOneThreadEachOnItsOwn) {
    run_loop a;
    run_loop b;
    exchanger<int> ex;
    const auto swap = [](exchanger<int>& ex, int item, int& got,
                         tryst::executor_ref& where) -> task<> {
        got = *co_await ex.exchange(item);
        where = current_executor();
    };
    int at_a = 0;
    int at_b = 0;
    tryst::executor_ref where_a;
    tryst::executor_ref where_b;
    a.spawn(swap(ex, 1, at_a, where_a));
    b.spawn(swap(ex, 2, at_b, where_b));
    a.run_until_idle();
    b.run_until_idle();
    EXPECT_EQ(at_a, 0) << "resumed outside of its loop";
    a.run_until_idle();
    EXPECT_EQ(at_a, 2);
    EXPECT_EQ(at_b, 1);
    EXPECT_EQ(where_a, a.executor());
    EXPECT_EQ(where_b, b.executor());
}

TEST(RunLoopTasks, MayEndOnAnotherLoopThanTheyWereSpawnedOn) {
    census kept;
    loop_thread elsewhere(sleep_at_once);
    loop_thread home(sleep_at_once);
    std::latch moved(100);
    for (int i = 0; i != 100; ++i) {
        home->spawn([](run_loop& there, std::latch& moved, tracked) -> task<> {
            co_await there.schedule();
            EXPECT_TRUE(there.running_here());
            moved.count_down();
        }(*elsewhere, moved, tracked(kept, i)));
    }
    moved.wait();
    elsewhere.join(); // behind their ends there, which post their frames home
    home.join();
    EXPECT_EQ(kept.alive, 0) << "a frame was kept until its loop's destruction";
}

TEST(RunLoopTasks, ThatEndedElsewhereAreFreedByALoopThatDoesNotRunAgain) {
    census kept;
    {
        run_loop elsewhere;
        run_loop home;
        home.spawn([](run_loop& there, tracked) -> task<> {
            co_await there.schedule();
        }(elsewhere, tracked(kept, 1)));
        home.run_until_idle();
        elsewhere.run_until_idle();
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(RunLoopTasks, AreFreedWhenTheyEnd) {
    census kept;
    run_loop loop;
    for (int i = 0; i != 3; ++i) {
        loop.spawn(do_nothing_with(tracked(kept, i)));
    }
    loop.spawn(park_in_queue(loop, tracked(kept, 3)));
    loop.spawn(stop_loop(loop));
    loop.run();
    EXPECT_EQ(kept.alive, 1) << "only one has not ended";
}

// ---- Misuse

TEST(RunLoopDeathTest, TerminatesOnAnExceptionThatLeavesASpawnedTask) {
    run_loop loop;
    loop.spawn(fail());
    EXPECT_DEATH(loop.run_until_idle(), "left the task");
}

#ifndef NDEBUG
TEST(RunLoopDeathTest, CatchesALoopThatIsRunWithinItself) {
    run_loop loop;
    loop.spawn([](run_loop& loop) -> task<> {
        loop.run_until_idle();
        co_return;
    }(loop));
    EXPECT_DEATH(loop.run_until_idle(), "not within itself");
}

TEST(RunLoopDeathTest, CatchesALoopThatIsDestroyedByItsOwnTask) {
    executor_end<ending_loop>::fails_if_its_own_task_does_it();
}
#endif

// ---- run(work)

namespace {

task<int> give(int value) {
    co_return value;
}

task<int> swap(exchanger<int>& ex, int item) {
    auto got = co_await ex.exchange(item);
    co_return got ? *got : -1;
}

/// An awaitable of a stranger, which completes at once.
struct ready_text {
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    const std::string& await_resume() const noexcept { return text; }
    std::string text;
};

/// Likewise, with a member operator co_await for rvalues only.
struct wrapped_text {
    ready_text operator co_await() && { return {std::move(text)}; }
    std::string text;
};

} // namespace

TEST(RunLoopRunsATask, AndReturnsWhatItReturns) {
    run_loop loop;
    EXPECT_EQ(loop.run(give(7)), 7);
    int count = 0;
    loop.run(increment(count));
    EXPECT_EQ(count, 1);
    task<int> named = give(8);
    EXPECT_EQ(loop.run(std::move(named)), 8);
}

TEST(RunLoopRunsATask, AndThrowsWhatItThrows) {
    run_loop loop;
    EXPECT_THROW(loop.run(fail()), std::runtime_error);
    EXPECT_EQ(loop.run(give(7)), 7);
}

TEST(RunLoopRunsATask, AndMeanwhileTheSpawnedOnesWhichStay) {
    run_loop loop;
    exchanger<int> ex;
    std::string log;
    loop.spawn([](exchanger<int>& ex) -> task<> { static_cast<void>(co_await swap(ex, 1)); }(ex));
    loop.spawn(take_turns(loop, log, 'a', 5));
    EXPECT_EQ(loop.run(swap(ex, 2)), 1);
    EXPECT_LT(log.size(), 5U) << "run waited for the other tasks, too";
    loop.run(take_turns(loop, log, 'b', 8));
    EXPECT_EQ(std::ranges::count(log, 'a'), 5);
}

TEST(RunLoopRunsATask, ThatWaitsForAnotherThread) {
    run_loop loop(sleep_at_once);
    exchanger<int> ex;
    for (int i = 0; i != 200; ++i) {
        std::thread partner([&] { EXPECT_EQ(*tryst::sync_wait(ex.exchange(i)), -i); });
        EXPECT_EQ(loop.run(swap(ex, -i)), i);
        partner.join();
    }
}

TEST(RunLoopRunsATask, ThatEndsOnAnotherLoop) {
    loop_thread other;
    run_loop loop;
    const auto hop = [](run_loop& there) -> task<int> {
        co_await there.schedule();
        co_return 3;
    };
    for (int i = 0; i != 200; ++i) {
        EXPECT_EQ(loop.run(hop(*other)), 3);
    }
}

TEST(RunLoopRunsATask, ToItsEndThoughTheLoopIsStoppedAndKeepsTheStop) {
    run_loop loop;
    std::string log;
    loop.run([](run_loop& loop, std::string& log) -> task<> {
        loop.stop();
        co_await take_turns(loop, log, 'a', 3);
    }(loop, log));
    EXPECT_EQ(log, "aaa");
    loop.spawn(take_turns(loop, log, 'b', 3));
    loop.run(); // ends, because of the stop
    EXPECT_EQ(log, "aaa");
}

TEST(RunLoopRunsATask, WithTheTimersOfTheLoop) {
    manual_clock::dial dial;
    manual_loop loop({}, manual_clock(dial));
    exchanger<int> ex;
    std::vector<int> log;
    loop.spawn([](manual_loop& loop, manual_clock::dial& dial) -> task<> {
        co_await spin_for(loop, 10);
        dial.time += 1h;
    }(loop, dial));
    loop.run(log_timeout(ex, 1, 1h, log));
    EXPECT_EQ(log, (std::vector{1}));
}

TEST(RunLoopRunsATask, LeavesTheUnfinishedToTheDestructor) {
    census kept;
    exchanger<tracked> ex;
    {
        run_loop loop;
        loop.spawn(park_in(ex, tracked(kept, 1), tracked(kept, 2)));
        loop.run(spin_for(loop, 3));
        EXPECT_EQ(kept.alive, 2);
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(RunLoopRuns, AnyAwaitable) {
    run_loop loop;
    EXPECT_EQ(loop.run(ready_text{"a"}), "a");
    EXPECT_EQ(loop.run(wrapped_text{"b"}), "b");
    ready_text named{"c"};
    EXPECT_EQ(loop.run(named), "c");
    loop.run(loop.schedule());
    exchanger<int> ex;
    auto got = loop.run(ex.exchange(1, 1us));
    EXPECT_EQ(got.returned(), 1);
}

TEST(RunLoopSpawns, AnyAwaitableWithoutAResult) {
    struct counting {
        bool await_ready() const noexcept { return false; }
        bool await_suspend(std::coroutine_handle<>) const noexcept { return false; }
        void await_resume() const noexcept { ++*count; }
        int* count;
    };
    run_loop loop;
    int count = 0;
    loop.spawn(counting{&count});
    const counting named{&count};
    loop.spawn(named); // a copy
    EXPECT_EQ(count, 0);
    loop.run_until_idle();
    EXPECT_EQ(count, 2);
}

#ifndef NDEBUG
TEST(RunLoopDeathTest, CatchesARunWithinTheSameLoop) {
    run_loop loop;
    loop.spawn([](run_loop& loop) -> task<> {
        static_cast<void>(loop.run(give(1)));
        co_return;
    }(loop));
    EXPECT_DEATH(loop.run_until_idle(), "not within itself");
}
#endif
