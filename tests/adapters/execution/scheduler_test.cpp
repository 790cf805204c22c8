// SPDX-License-Identifier: MIT
#include <tryst/execution.hpp>

#include "adapters/execution/recording.hpp"
#include "support/loop_thread.hpp"
#include "support/tracked.hpp"

#include <tryst/tryst.hpp>

#include <exec/static_thread_pool.hpp>
#include <stdexec/execution.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

namespace {

using namespace std::chrono_literals;
namespace ex = stdexec;
using tryst::as_sender;
using tryst::exchange_errc;
using tryst::exchange_result;
using tryst::exchanger;
using tryst::run_loop;
using tryst::execution::scheduler;
using tryst::test::census;
using tryst::test::loop_thread;
using tryst::test::record;
using tryst::test::recorder;
using tryst::test::run;
using tryst::test::tracked;
using tryst::test::with;
using tryst::test::with_scheduler;
using tryst::test::with_token;

static_assert(ex::scheduler<scheduler>);

// ---- The scheduler of an executor

struct turn_recorder {
    using receiver_concept = ex::receiver_t;
    void set_value() && noexcept { *value = tryst::current_executor(); }
    tryst::executor_ref* value;
};

template <class Env>
struct stoppable_turn_recorder {
    using receiver_concept = ex::receiver_t;
    void set_value() && noexcept { ++*values; }
    void set_stopped() && noexcept { ++*stops; }
    const Env& get_env() const noexcept { return env; }
    int* values;
    int* stops;
    Env env;
};

TEST(Scheduler, CompletesInATurnOfItsExecutor) {
    run_loop loop;
    tryst::executor_ref ran;
    auto state = ex::connect(ex::schedule(loop.get_scheduler()), turn_recorder{&ran});
    ex::start(state);
    EXPECT_FALSE(ran);
    loop.run_until_idle();
    EXPECT_EQ(ran, loop.executor());
}

TEST(Scheduler, IsStoppedByTheReceiver) {
    run_loop loop;
    ex::inplace_stop_source stop;
    using env = with_token<ex::inplace_stop_token>;
    int values = 0;
    int stops = 0;
    auto make = [&] {
        return ex::connect(ex::schedule(loop.get_scheduler()),
                           stoppable_turn_recorder<env>{&values, &stops, {stop.get_token()}});
    };
    auto first = make();
    ex::start(first);
    loop.run_until_idle();
    auto second = make();
    ex::start(second);
    stop.request_stop();
    EXPECT_EQ(stops, 0);
    loop.run_until_idle();
    EXPECT_EQ(values, 1);
    EXPECT_EQ(stops, 1);
}

TEST(Scheduler, EqualsThatOfTheSameExecutor) {
    run_loop one;
    run_loop two;
    EXPECT_EQ(one.get_scheduler(), one.executor().get_scheduler());
    EXPECT_NE(one.get_scheduler(), two.get_scheduler());
    EXPECT_EQ(ex::get_completion_scheduler<ex::set_value_t>(
                  ex::get_env(ex::schedule(one.get_scheduler()))),
              one.get_scheduler());
}

TEST(Scheduler, RunsWhatIsStartedOnIt) {
    loop_thread one;
    loop_thread two;
    auto here = ex::just() | ex::then([] { return tryst::current_executor(); });
    auto [first, second] =
        run(ex::starts_on(one->get_scheduler(), here) | ex::continues_on(two->get_scheduler()) |
            ex::then([](auto before) { return std::pair(before, tryst::current_executor()); }));
    EXPECT_EQ(first, one->executor());
    EXPECT_EQ(second, two->executor());
}

// ---- Where exchanges complete

/// A sender of the executor on which `sender` completes.
template <class Sender>
auto executor_after(Sender&& sender) {
    return std::forward<Sender>(sender) | ex::then([](auto&& result) {
               EXPECT_TRUE(result);
               return tryst::current_executor();
           });
}

TEST(SenderAffinity, CompletesOnTheLoopThatItWasStartedOn) {
    exchanger<int> ex;
    loop_thread one;
    loop_thread two;
    for (int i = 0; i != 100; ++i) {
        auto [first, second] =
            ex::sync_wait(
                ex::when_all(
                    ex::starts_on(one->get_scheduler(), executor_after(as_sender(ex.exchange(1)))),
                    ex::starts_on(two->get_scheduler(), executor_after(as_sender(ex.exchange(2))))))
                .value();
        EXPECT_EQ(first, one->executor());
        EXPECT_EQ(second, two->executor());
    }
}

TEST(SenderAffinity, CompletesOnTheLoopOfItsEnvironmentWhereverItIsStarted) {
    exchanger<int> ex;
    run_loop loop;
    record<exchange_result<int>> got;
    using env = with_scheduler<scheduler>;
    auto state = ex::connect(as_sender(ex.exchange(1)),
                             recorder<exchange_result<int>, env>{&got, {loop.get_scheduler()}});
    ex::start(state);
    EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1);
    EXPECT_EQ(got.calls, 0);
    loop.run_until_idle();
    EXPECT_EQ(got.executor, loop.executor());
    EXPECT_EQ(**got.value, 2);
}

TEST(SenderAffinity, WithoutASchedulerCompletesOnTheExecutorThatRunsIt) {
    exchanger<int> ex;
    run_loop loop;
    record<exchange_result<int>> got;
    auto state = ex::connect(as_sender(ex.exchange(1)), recorder<exchange_result<int>>{&got});
    {
        const tryst::executor_scope here(loop.executor());
        ex::start(state);
    }
    EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1);
    EXPECT_EQ(got.calls, 0);
    loop.run_until_idle();
    EXPECT_EQ(got.executor, loop.executor());
}

TEST(SenderAffinity, WithoutAnyExecutorCompletesInItsPartner) {
    exchanger<int> ex;
    run_loop loop;
    record<exchange_result<int>> got;
    auto state = ex::connect(as_sender(ex.exchange(1)), recorder<exchange_result<int>>{&got});
    ex::start(state);
    std::thread partner([&] { EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1); });
    const auto id = partner.get_id();
    partner.join();
    EXPECT_EQ(got.thread, id);
}

TEST(SenderAffinity, CompletesInTheThreadPoolThatItWasStartedOn) {
    exchanger<int> ex;
    exec::static_thread_pool pool(1);
    auto [pool_thread] =
        ex::sync_wait(ex::schedule(pool.get_scheduler()) | ex::then(std::this_thread::get_id))
            .value();
    std::thread partner([&] { EXPECT_TRUE(tryst::sync_wait(ex.exchange(2))); });
    auto [thread] = ex::sync_wait(ex::starts_on(pool.get_scheduler(),
                                                as_sender(ex.exchange(1)) | ex::then([](auto) {
                                                    return std::this_thread::get_id();
                                                })))
                        .value();
    partner.join();
    EXPECT_EQ(thread, pool_thread);
}

TEST(SenderAffinity, CompletesInTheThreadOfSyncWait) {
    exchanger<int> ex;
    std::thread partner([&] { EXPECT_TRUE(tryst::sync_wait(ex.exchange(2))); });
    auto [thread] = ex::sync_wait(as_sender(ex.exchange(1)) |
                                  ex::then([](auto) { return std::this_thread::get_id(); }))
                        .value();
    partner.join();
    EXPECT_EQ(thread, std::this_thread::get_id());
}

/// Refuses every turn.
template <class Completion>
struct refusing_scheduler {
    using scheduler_concept = ex::scheduler_t;
    struct sender {
        using sender_concept = ex::sender_t;
        using completion_signatures =
            ex::completion_signatures<ex::set_value_t(), ex::set_stopped_t(), ex::set_error_t(int)>;
        template <class Receiver>
        struct state {
            using operation_state_concept = ex::operation_state_t;
            void start() & noexcept { Completion()(std::move(receiver)); }
            Receiver receiver;
        };
        template <class Receiver>
        state<Receiver> connect(Receiver receiver) const noexcept {
            return {std::move(receiver)};
        }
    };
    sender schedule() const noexcept { return {}; }
    bool operator==(const refusing_scheduler&) const = default;
};
struct refuse_by_stop {
    template <class Receiver>
    void operator()(Receiver&& receiver) const noexcept {
        ex::set_stopped(std::forward<Receiver>(receiver));
    }
};
struct refuse_by_error {
    template <class Receiver>
    void operator()(Receiver&& receiver) const noexcept {
        ex::set_error(std::forward<Receiver>(receiver), 1);
    }
};

template <class Refuse>
void expect_result_in_spite_of_refusal() {
    census items;
    exchanger<tracked> ex;
    using env = with_scheduler<refusing_scheduler<Refuse>>;
    record<exchange_result<tracked>> got;
    auto state = ex::connect(as_sender(ex.exchange(tracked(items, 1))),
                             recorder<exchange_result<tracked>, env>{&got, {}});
    ex::start(state);
    EXPECT_EQ(ex.try_exchange(tracked(items, 2))->id(), 1);
    EXPECT_EQ(got.calls, 1);
    EXPECT_EQ((*got.value)->id(), 2);
}

TEST(SenderAffinity, DeliversTheResultIfTheSchedulerRefusesTheTurn) {
    expect_result_in_spite_of_refusal<refuse_by_stop>();
    expect_result_in_spite_of_refusal<refuse_by_error>();
}

TEST(SenderAffinity, AStopDoesNotPreventTheTurn) {
    exchanger<int> ex;
    ex::run_loop loop;
    ex::inplace_stop_source stop;
    record<exchange_result<int>> got;
    using env =
        with<with_scheduler<decltype(loop.get_scheduler())>, with_token<ex::inplace_stop_token>>;
    auto state = ex::connect(
        as_sender(ex.exchange(1)),
        recorder<exchange_result<int>, env>{&got, {{loop.get_scheduler()}, {stop.get_token()}}});
    ex::start(state);
    std::thread([&] { stop.request_stop(); }).join();
    EXPECT_EQ(got.calls, 0);
    loop.finish();
    loop.run();
    EXPECT_EQ(got.thread, std::this_thread::get_id());
    EXPECT_EQ(got.value->error(), exchange_errc::cancelled);
}

TEST(SenderAffinity, NamesTheSchedulerOfItsEnvironment) {
    run_loop loop;
    exchanger<int> ex;
    const auto sender = as_sender(ex.exchange(1));
    const with_scheduler env{loop.get_scheduler()};
    EXPECT_EQ(ex::get_completion_scheduler<ex::set_value_t>(ex::get_env(sender), env),
              loop.get_scheduler());
}

// ---- Timers and destruction on a loop

TEST(SenderOnALoop, TakesItsDeadlineFromTheLoop) {
    exchanger<int> ex;
    loop_thread loop;
    auto [on, error] = run(ex::starts_on(
        loop->get_scheduler(), as_sender(ex.exchange(1, 1ms)) | ex::then([](auto result) {
                                   return std::pair(tryst::current_executor(), result.error());
                               })));
    EXPECT_EQ(on, loop->executor());
    EXPECT_EQ(error, exchange_errc::timed_out);
}

TEST(SenderOnALoop, IsWithdrawnWhenItsOperationStateIsDestroyed) {
    census items;
    exchanger<tracked> ex;
    run_loop loop;
    const tryst::executor_scope here(loop.executor());
    for (const bool matched : {false, true}) {
        ex::inplace_stop_source stop;
        using env = with<with_scheduler<scheduler>, with_token<ex::inplace_stop_token>>;
        record<exchange_result<tracked>> got;
        std::optional<exchange_result<tracked>> theirs;
        {
            auto state = ex::connect(as_sender(ex.exchange(tracked(items, 1), 24h)),
                                     recorder<exchange_result<tracked>, env>{
                                         &got, {{loop.get_scheduler()}, {stop.get_token()}}});
            ex::start(state);
            if (matched) {
                theirs.emplace(ex.try_exchange(tracked(items, 2)));
                EXPECT_TRUE(*theirs);
            }
        }
        EXPECT_EQ(got.calls, 0);
        EXPECT_EQ(items.alive.load(), matched ? 1 : 0);
    }
}

// ---- Scopes

TEST(Sender, RunsInACountingScope) {
    exchanger<int> ex;
    loop_thread loop;
    std::atomic<int> sum{0};
    ex::counting_scope scope;
    for (int i = 1; i <= 4; ++i) {
        ex::spawn(ex::starts_on(loop->get_scheduler(),
                                as_sender(ex.exchange(i)) |
                                    ex::then([&sum](auto result) noexcept { sum += *result; })),
                  scope.get_token());
    }
    ex::sync_wait(scope.join());
    EXPECT_EQ(sum, 10);
}

} // namespace
