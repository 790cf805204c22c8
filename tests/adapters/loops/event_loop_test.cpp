// SPDX-License-Identifier: MIT
// Tasks on every loop that has an adapter, and on a small one that has none.
#include "adapters/loops/host_thread.hpp"
#include "adapters/loops/hosts.hpp"
#include "support/bare_coroutine.hpp"
#include "support/executor_end.hpp"
#include "support/insides.hpp"
#include "support/shared_numbers.hpp"
#include "support/tracked.hpp"
#include "support/waiting_partners.hpp"

#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using tryst::exchange_errc;
using tryst::test::host_thread;
using tryst::test::stopping;
using tryst::test::tracked;
using tryst::test::until_someone_waits;

template <class Host>
class EventLoop : public ::testing::Test {
protected:
    using executor = typename Host::executor;

    template <class Executor = executor>
    auto make() {
        return host_.template make<Executor>();
    }

    /// Runs the loop until `work` has finished.
    void run(executor& on, tryst::task<> work) {
        on.spawn(run_and_stop(host_, std::move(work)));
        host_.run();
    }

    Host host_;

private:
    static tryst::task<> run_and_stop(Host& host, tryst::task<> work) {
        co_await std::move(work);
        host.stop();
    }
};
TYPED_TEST_SUITE(EventLoop, tryst::test::hosts, tryst::test::host_names);

tryst::task<> swap(tryst::exchanger<int>& ex, int mine, int& theirs) {
    const auto got = co_await ex.exchange(mine);
    theirs = got ? *got : -1;
}

tryst::task<> two_swap(tryst::exchanger<int>& ex, int& first, int& second) {
    co_await tryst::when_all(swap(ex, 1, first), swap(ex, 2, second));
}

TYPED_TEST(EventLoop, RunsTasksThatWereSpawnedBeforeIt) {
    const auto on = this->make();
    tryst::exchanger<int> ex;
    int first = 0;
    int second = 0;
    this->run(*on, two_swap(ex, first, second));
    EXPECT_EQ(first, 2);
    EXPECT_EQ(second, 1);
}

TYPED_TEST(EventLoop, RunsTasksThatWereSpawnedBetweenTwoRuns) {
    const auto on = this->make();
    tryst::exchanger<int> ex;
    for (int run = 0; run != 3; ++run) {
        int first = 0;
        int second = 0;
        this->run(*on, two_swap(ex, first, second));
        EXPECT_EQ(first, 2);
    }
}

TYPED_TEST(EventLoop, RunsTasksThatAnotherThreadSpawnedBeforeIt) {
    const auto on = this->make();
    tryst::exchanger<int> ex;
    int first = 0;
    int second = 0;
    std::jthread([&] { on->spawn(swap(ex, 1, first)); }).join();
    this->run(*on, swap(ex, 2, second));
    EXPECT_EQ(first, 2);
    EXPECT_EQ(second, 1);
}

tryst::task<> meet_on(tryst::exchanger<int>& ex, int mine, std::promise<int>& theirs,
                      std::thread::id& thread) {
    const auto got = co_await ex.exchange(mine);
    thread = std::this_thread::get_id();
    theirs.set_value(*got);
}

TYPED_TEST(EventLoop, ResumesOnItsThreadAfterAPartnerOnAnother) {
    host_thread<TypeParam> on;
    tryst::exchanger<int> ex;
    std::promise<int> theirs;
    std::thread::id thread;
    on->spawn(meet_on(ex, 1, theirs, thread));
    until_someone_waits(ex);
    EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1);
    EXPECT_EQ(theirs.get_future().get(), 2);
    EXPECT_EQ(thread, on.id());
}

tryst::task<> hop(typename tryst::executor_ref on, std::thread::id& before,
                  std::thread::id& after) {
    before = std::this_thread::get_id();
    co_await on.schedule();
    after = std::this_thread::get_id();
}

TYPED_TEST(EventLoop, ContinuesATaskThatSchedulesItselfThere) {
    host_thread<TypeParam> on;
    std::thread::id before;
    std::thread::id after;
    tryst::sync_wait(hop(on->executor(), before, after));
    EXPECT_EQ(before, std::this_thread::get_id());
    EXPECT_EQ(after, on.id());
}

tryst::task<> receive(tryst::synchronous_channel<int>& channel, int count, long& sum) {
    for (int i = 0; i != count; ++i) {
        const auto got = co_await channel.receive();
        sum += *got;
    }
}

TYPED_TEST(EventLoop, ReceivesFromManyThreads) {
    constexpr int senders = 4;
    constexpr int each = 2'500;
    const auto on = this->make();
    tryst::synchronous_channel<int> channel;
    long sum = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i != senders; ++i) {
        threads.emplace_back([&] {
            for (int item = 1; item <= each; ++item) {
                EXPECT_TRUE(tryst::sync_wait(channel.send(item)));
            }
        });
    }
    this->run(*on, receive(channel, senders * each, sum));
    EXPECT_EQ(sum, long(senders) * each * (each + 1) / 2);
}

TYPED_TEST(EventLoop, SharesAChannelWithThreads) {
    for (const std::size_t limit : tryst::test::shared_numbers::limits) {
        tryst::test::shared_numbers shared(2, limit);
        const auto on = this->make();
        std::vector<std::jthread> threads;
        for (int i = 0; i != 2; ++i) {
            threads.emplace_back(
                [&] { shared.send_by([](auto op) { return tryst::sync_wait(std::move(op)); }); });
        }
        threads.emplace_back(
            [&] { shared.receive_by([](auto op) { return tryst::sync_wait(std::move(op)); }); });
        this->run(*on, shared.receive<tryst::task<>>());
        threads.clear();
        shared.expect_each_once();
    }
}

// ---- Wake-ups

std::atomic<int> wakes{0};

template <class Wake>
struct counting : Wake {
    using Wake::Wake;
    void wake() noexcept {
        ++wakes;
        Wake::wake();
    }
};

struct counted_node : tryst::executor_node {
    explicit counted_node(std::atomic<int>& counter) : runs(counter) {
        run = [](tryst::executor_node* node) noexcept { ++static_cast<counted_node*>(node)->runs; };
    }
    std::atomic<int>& runs;
};

TYPED_TEST(EventLoop, IsWokenOnceForManyPosts) {
    if constexpr (requires { typename TypeParam::wake; }) {
        using counting_executor = tryst::loop_executor<counting<typename TypeParam::wake>>;
        const auto on = this->template make<counting_executor>();
        on->spawn(stopping(this->host_));
        this->host_.run();
        // The loop is asleep, and does not run.
        wakes = 0;
        std::atomic<int> runs{0};
        std::vector<counted_node> nodes(10'000, counted_node(runs));
        {
            std::vector<std::jthread> threads;
            for (std::size_t first = 0; first != 4; ++first) {
                threads.emplace_back([&, first] {
                    for (std::size_t i = first; i < nodes.size(); i += 4) {
                        on->post(&nodes[i]);
                    }
                });
            }
        }
        EXPECT_EQ(wakes, 1);
        on->spawn(stopping(this->host_));
        this->host_.run();
        EXPECT_EQ(runs, 10'000);
        // One wake-up for each further turn.
        EXPECT_EQ(wakes, 1 + 10'001 / 64);
    }
}

template <class Executor>
tryst::task<> chain(Executor& on, bool& end) {
    while (!end) {
        co_await on.schedule();
    }
}

TYPED_TEST(EventLoop, DoesItsOtherWorkDuringAnEndlessChainOfReadyTasks) {
    const auto on = this->make();
    bool end = false;
    int rounds = 0;
    const auto other = [&](auto& self) -> void {
        if (++rounds == 10) {
            end = true;
        } else {
            this->host_.defer([&] { self(self); });
        }
    };
    this->host_.defer([&] { other(other); });
    on->spawn(chain(*on, end));
    this->run(*on, chain(*on, end));
    EXPECT_EQ(rounds, 10);
}

// ---- Deadlines

struct ending {
    std::error_code error;
    std::chrono::nanoseconds took{};
};

tryst::task<> wait_in_vain(tryst::exchanger<int>& ex, std::chrono::nanoseconds patience,
                           std::vector<ending>& ends) {
    const auto start = steady_clock::now();
    const auto got = co_await ex.exchange(1, patience);
    ends.push_back({got.error(), steady_clock::now() - start});
}

/// A party that finds a waiting partner each time lets the loop do its other work.
TYPED_TEST(EventLoop, DoesItsOtherWorkDuringOperationsThatFindTheirPartners) {
    const auto on = this->make();
    tryst::synchronous_channel<int> channel;
    const tryst::test::waiting_partners partners(channel);
    int done = 0;
    int seen = -1;
    const auto work = [](TypeParam& host, tryst::synchronous_channel<int>& to, int& count,
                         int& at) -> tryst::task<> {
        host.defer([&] { at = count; });
        co_await tryst::test::send_all(to, count);
    };
    this->run(*on, work(this->host_, channel, done, seen));
    EXPECT_EQ(done, tryst::test::waiting_partners::count);
    EXPECT_GE(seen, 0);
    EXPECT_LE(seen, 2 * (tryst::test::budget + 1)); // some loops run it one turn later
}

TYPED_TEST(EventLoop, EndsAWaitAtItsDeadlineAndNotBefore) {
    const auto on = this->make();
    tryst::exchanger<int> ex;
    std::vector<ending> ends;
    for (const auto patience : {0ns, 1ns, 999'999ns, 1'000'000ns, 3'700'000ns}) {
        ends.clear();
        this->run(*on, wait_in_vain(ex, patience, ends));
        ASSERT_EQ(ends.size(), 1U);
        EXPECT_EQ(ends[0].error, exchange_errc::timed_out);
        EXPECT_GE(ends[0].took, patience);
    }
}

tryst::task<> wait_in_turn(tryst::exchanger<int>& ex, std::vector<int>& order, int id,
                           steady_clock::time_point deadline) {
    const auto got = co_await ex.exchange(id, deadline);
    order.push_back(got ? -1 : got.returned());
}

tryst::task<> wait_inversely(std::vector<int>& order) {
    tryst::exchanger<int> first;
    tryst::exchanger<int> second;
    tryst::exchanger<int> third;
    const auto now = steady_clock::now();
    co_await tryst::when_all(wait_in_turn(first, order, 3, now + 15ms),
                             wait_in_turn(second, order, 2, now + 10ms),
                             wait_in_turn(third, order, 1, now + 5ms));
}

TYPED_TEST(EventLoop, ServesDeadlinesInTheirOrder) {
    const auto on = this->make();
    std::vector<int> order;
    this->run(*on, wait_inversely(order));
    EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

tryst::task<> wait_often(tryst::exchanger<int>& ex, std::vector<ending>& ends) {
    for (int i = 0; i != 20; ++i) {
        co_await wait_in_vain(ex, 1ms, ends);
    }
}

TYPED_TEST(EventLoop, ServesOneDeadlineAfterTheOther) {
    const auto on = this->make();
    tryst::exchanger<int> ex;
    std::vector<ending> ends;
    this->run(*on, wait_often(ex, ends));
    ASSERT_EQ(ends.size(), 20U);
    for (const ending& end : ends) {
        EXPECT_EQ(end.error, exchange_errc::timed_out);
        EXPECT_GE(end.took, 1ms);
    }
}

tryst::task<> meet_in_time(tryst::exchanger<int>& ex, std::chrono::nanoseconds patience,
                           int& theirs) {
    const auto got = co_await ex.exchange(1, patience);
    theirs = got ? *got : -1;
}

tryst::task<> meet_in_time_often(tryst::exchanger<int>& ex, int& met) {
    for (int i = 0; i != 100; ++i) {
        int first = 0;
        int second = 0;
        // The first is cancelled by the meeting, and so becomes the second's alarm.
        co_await tryst::when_all(meet_in_time(ex, std::chrono::hours(i + 1), first),
                                 meet_in_time(ex, std::chrono::nanoseconds::max(), second));
        met += first == 1 && second == 1;
    }
}

TYPED_TEST(EventLoop, ForgetsTheDeadlineOfAWaitThatEndedBefore) {
    const auto on = this->make();
    tryst::exchanger<int> ex;
    int met = 0;
    this->run(*on, meet_in_time_often(ex, met));
    EXPECT_EQ(met, 100);
    std::vector<ending> ends;
    this->run(*on, wait_in_vain(ex, 1ms, ends));
    EXPECT_EQ(ends.at(0).error, exchange_errc::timed_out);
}

TYPED_TEST(EventLoop, WaitsForThePartnerOfALongDeadline) {
    const auto on = this->make();
    tryst::exchanger<int> ex;
    int theirs = 0;
    std::jthread partner([&] {
        until_someone_waits(ex);
        EXPECT_TRUE(tryst::sync_wait(ex.exchange(7)));
    });
    this->run(*on, meet_in_time(ex, std::chrono::years(90), theirs));
    EXPECT_EQ(theirs, 7);
}

// ---- The ends of waits

tryst::task<> wait_stoppable(tryst::exchanger<int>& ex, std::stop_token stop,
                             std::error_code& end) {
    const auto got = co_await ex.exchange(1, std::move(stop));
    end = got.error();
}

TYPED_TEST(EventLoop, EndsAWaitThatAnotherThreadStops) {
    const auto on = this->make();
    tryst::exchanger<int> ex;
    std::stop_source stop;
    std::error_code end;
    std::jthread stopper([&] {
        until_someone_waits(ex);
        stop.request_stop();
    });
    this->run(*on, wait_stoppable(ex, stop.get_token(), end));
    EXPECT_EQ(end, exchange_errc::cancelled);
}

TYPED_TEST(EventLoop, EndsAWaitAtTheClose) {
    const auto on = this->make();
    tryst::exchanger<int> ex;
    std::error_code end;
    std::jthread closer([&] {
        until_someone_waits(ex);
        ex.close();
    });
    this->run(*on, wait_stoppable(ex, std::stop_token(), end));
    EXPECT_EQ(end, exchange_errc::closed);
}

// ---- Destruction

tryst::task<> offer(tryst::exchanger<tracked>& ex, tryst::test::census& census, long id) {
    tracked mine(census, id);
    const auto got = co_await ex.exchange(std::move(mine));
    ADD_FAILURE() << "resumed";
}

TYPED_TEST(EventLoop, DestroysTasksThatWait) {
    tryst::test::census census;
    tryst::exchanger<tracked> ex;
    auto on = this->make();
    on->spawn(offer(ex, census, 1));
    on->spawn(stopping(this->host_));
    this->host_.run();
    until_someone_waits(ex);
    on.reset();
    EXPECT_EQ(census.alive, 0);
    tracked late(census, 2);
    EXPECT_EQ(ex.try_exchange(std::move(late)).error(), exchange_errc::no_partner);
    this->host_.defer([this] { this->host_.stop(); }); // the loop goes on without it
    this->host_.run();
}

TYPED_TEST(EventLoop, DestroysTasksThatHaveNotStarted) {
    tryst::test::census census;
    tryst::exchanger<tracked> ex;
    auto on = this->make();
    on->spawn(stopping(this->host_));
    this->host_.run();
    on->spawn(offer(ex, census, 1)); // a turn is queued
    on.reset();
    EXPECT_EQ(census.alive, 0);
    this->host_.defer([this] { this->host_.stop(); });
    this->host_.run();
}

TYPED_TEST(EventLoop, DestroysTasksWithDeadlines) {
    std::vector<ending> ends;
    tryst::exchanger<int> ex;
    auto on = this->make();
    on->spawn(wait_in_vain(ex, 1ms, ends));
    on->spawn(wait_in_vain(ex, 2ms, ends));
    on.reset();
    on = this->make();
    tryst::exchanger<int> other;
    on->spawn(wait_in_vain(other, 1ms, ends));
    on->spawn(stopping(this->host_));
    this->host_.run();
    on.reset(); // with a timer set
    on = this->make();
    ends.clear();
    this->run(*on, wait_in_vain(ex, 5ms, ends));
    EXPECT_EQ(ends.size(), 1U);
}

template <class Host>
struct ending_executor {
    auto& on() { return *executor; }
    void settle() {
        executor->spawn(stopping(host));
        host.run();
    }
    void end() { executor.reset(); }
    Host host;
    decltype(host.template make<typename Host::executor>()) executor =
        host.template make<typename Host::executor>();
};

TYPED_TEST(EventLoop, LeavesNothingToADyingExecutor) {
    tryst::test::executor_end<ending_executor<TypeParam>>::check();
}

#ifndef NDEBUG
TYPED_TEST(EventLoop, CatchesAnExecutorThatIsDestroyedByItsOwnTask) {
#ifndef TRYST_TEST_EMULATED // an emulated program cannot start itself anew; it forks
    GTEST_FLAG_SET(death_test_style, "threadsafe");
#endif
    tryst::test::executor_end<ending_executor<TypeParam>>::fails_if_its_own_task_does_it();
}
#endif

TYPED_TEST(EventLoop, MayBeDestroyedByACallbackOfTheLoop) {
    auto on = this->make();
    tryst::test::census census;
    tryst::exchanger<tracked> ex;
    on->spawn(offer(ex, census, 1));
    this->host_.defer([&] {
        on.reset();
        this->host_.stop();
    });
    this->host_.run();
    EXPECT_EQ(census.alive, 0);
}

tryst::task<> offer_often(tryst::exchanger<tracked>& ex, tryst::test::census& census,
                          std::atomic<long>& received) {
    for (;;) {
        tracked mine(census, 1);
        const auto got = co_await ex.exchange(std::move(mine));
        received += bool(got);
    }
}

TYPED_TEST(EventLoop, IsDestroyedWhileAPartnerCompletesAWait) {
    tryst::test::census census;
    tryst::exchanger<tracked> ex;
    std::atomic<long> received{0};
    std::atomic<bool> end{false};
    std::jthread partner([&] {
        while (!end) {
            tracked mine(census, 2);
            const auto got = tryst::sync_wait(ex.exchange(std::move(mine), 10us));
        }
    });
    for (int i = 0; i != 200; ++i) {
        auto on = this->make();
        for (int task = 0; task != 3; ++task) {
            on->spawn(offer_often(ex, census, received));
        }
        on->spawn(stopping(this->host_));
        this->host_.run();
        on.reset();
    }
    end = true;
    partner.join();
    EXPECT_EQ(census.alive, 0);
}

// ---- Loops within tasks

template <class Host, class Executor>
tryst::task<> iterate_within(Host& host, Executor& on, bool& inside, bool& other_ran_inside) {
    bool other_ran = false;
    on.spawn([](bool& ran) -> tryst::task<> {
        ran = true;
        co_return;
    }(other_ran));
    inside = true;
    for (int i = 0; i != 10; ++i) {
        host.iterate();
    }
    inside = false;
    other_ran_inside = other_ran;
    co_await on.schedule();
    EXPECT_TRUE(other_ran);
}

TYPED_TEST(EventLoop, DoesNotResumeTasksWithinATask) {
    if constexpr (requires { this->host_.iterate(); }) {
        const auto on = this->make();
        tryst::exchanger<int> ex;
        std::vector<ending> ends;
        on->spawn(wait_in_vain(ex, 1us, ends)); // a timer that expires inside
        bool inside = false;
        bool other_ran_inside = true;
        this->run(*on, iterate_within(this->host_, *on, inside, other_ran_inside));
        EXPECT_FALSE(other_ran_inside);
        std::vector<ending> later;
        this->run(*on, wait_in_vain(ex, 1ms, later));
        EXPECT_EQ(ends.size(), 1U);
        EXPECT_EQ(later.size(), 1U);
    } else {
        SUCCEED() << "this loop does not run within its callbacks";
    }
}

// ---- Coroutines of other libraries

tryst::test::bare_coroutine bare_swap(tryst::exchanger<int>& ex, std::thread::id& thread,
                                      std::promise<int>& theirs) {
    const auto got = co_await ex.exchange(1);
    thread = std::this_thread::get_id();
    theirs.set_value(*got);
}

TYPED_TEST(EventLoop, ResumesBareCoroutinesThatBeginInItsScope) {
    const auto on = this->make();
    const tryst::executor_scope here(on->executor());
    tryst::exchanger<int> ex;
    std::thread::id thread;
    std::promise<int> theirs;
    std::optional<tryst::test::bare_coroutine> bare;
    this->host_.defer([&] { bare.emplace(bare_swap(ex, thread, theirs)); });
    std::jthread partner([&] {
        until_someone_waits(ex);
        EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1);
        EXPECT_EQ(theirs.get_future().get(), 2);
        on->spawn(stopping(this->host_));
    });
    this->host_.run();
    EXPECT_EQ(thread, std::this_thread::get_id());
    EXPECT_TRUE(bare->done());
}

template <class Host>
tryst::test::bare_coroutine bare_wait(Host& host, tryst::synchronous_channel<int>& channel,
                                      std::error_code& end) {
    const auto got = co_await channel.receive(1ms);
    end = got.error();
    host.stop();
}

TYPED_TEST(EventLoop, ServesTheDeadlinesOfBareCoroutinesInItsScope) {
    const auto on = this->make();
    on->spawn(stopping(this->host_)); // falls asleep without an alarm
    this->host_.run();
    const tryst::executor_scope here(on->executor());
    tryst::synchronous_channel<int> channel;
    std::error_code end;
    const auto bare = bare_wait(this->host_, channel, end);
    this->host_.run();
    EXPECT_EQ(end, exchange_errc::timed_out);
    EXPECT_TRUE(bare.done());
}

template <class Host>
struct stopping_timer : tryst::timer_node {
    explicit stopping_timer(Host& on) : host(on) {
        fire = [](tryst::timer_node* node) noexcept {
            static_cast<stopping_timer*>(node)->host.stop();
        };
    }
    Host& host;
};

TYPED_TEST(EventLoop, ServesATimerThatIsArmedBetweenTwoTurns) {
    const auto on = this->make();
    on->spawn(stopping(this->host_));
    this->host_.run();
    const tryst::executor_ref ref = on->executor();
    const tryst::executor_scope here(ref);
    if (ref.has_timers()) { // else the timer thread serves the deadlines
        stopping_timer late(this->host_);
        stopping_timer soon(this->host_);
        late.deadline = ref.now() + 1h;
        soon.deadline = ref.now() + 1ms;
        ref.arm(&late);
        ref.arm(&soon);
        this->host_.run();
        EXPECT_GE(ref.now(), soon.deadline);
        ref.disarm(&late);
    }
}

template <class Executor>
tryst::test::bare_coroutine bare_hop(Executor& on, std::promise<std::thread::id>& thread) {
    co_await on.schedule();
    thread.set_value(std::this_thread::get_id());
}

TYPED_TEST(EventLoop, ContinuesBareCoroutinesThatScheduleThemselvesThere) {
    host_thread<TypeParam> on;
    std::promise<std::thread::id> thread;
    const auto bare = bare_hop(*on, thread);
    EXPECT_EQ(thread.get_future().get(), on.id());
    on.join();
    EXPECT_TRUE(bare.done());
}

// ---- An executor that another thread has made

tryst::task<> run_there(std::promise<std::thread::id>& thread) {
    thread.set_value(std::this_thread::get_id());
    co_return;
}

TYPED_TEST(EventLoop, MayBeMadeByAnotherThreadThanRunsIt) {
    if constexpr (TypeParam::may_move) { // else a loop belongs to the thread that made it
        const auto on = this->make();
        std::promise<std::thread::id> thread;
        std::promise<void> running;
        this->host_.defer([&] { running.set_value(); });
        std::jthread runner([&] { this->host_.run(); });
        running.get_future().get();
        on->spawn(run_there(thread));
        EXPECT_EQ(thread.get_future().get(), runner.get_id());
        on->spawn(stopping(this->host_));
        runner.join();
    }
}

TYPED_TEST(EventLoop, MayBeDestroyedByAnotherThreadThanRanIt) {
    if constexpr (TypeParam::may_move) {
        std::vector<ending> ends;
        tryst::exchanger<int> ex;
        auto on = this->make();
        on->spawn(wait_in_vain(ex, 1h, ends)); // sets a timer
        on->spawn(stopping(this->host_));
        std::thread([&] { this->host_.run(); }).join();
        on.reset();
        EXPECT_TRUE(ends.empty());
    }
}

} // namespace
