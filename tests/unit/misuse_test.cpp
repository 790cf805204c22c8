// SPDX-License-Identifier: MIT
// Misuse that ends the program with a message.
#include <tryst/run_loop.hpp>

#include <tryst/case_set.hpp>
#include <tryst/channel.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/future.hpp>
#include <tryst/inplace_stop_token.hpp>
#include <tryst/select.hpp>
#include <tryst/sleep.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/synchronous_channel.hpp>
#include <tryst/task_scope.hpp>
#include <tryst/when_all.hpp>
#include <tryst/when_any.hpp>

#include "support/bare_coroutine.hpp"
#include "support/queue_executor.hpp"
#include "support/started.hpp"
#include "support/works.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <thread>
#include <utility>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

struct misuse {
    const char* name;
    void (*commit)();
    const char* message;
};

/// Names its test after it.
void PrintTo(const misuse& what, std::ostream* to) { // NOLINT(readability-identifier-naming)
    *to << what.name;
}

class Misuse : public ::testing::TestWithParam<misuse> {};

TEST_P(Misuse, EndsTheProgram) {
    EXPECT_DEATH(GetParam().commit(), GetParam().message);
}

/// Calls `function` in a task on `loop`.
template <class Function>
void call_on(run_loop& loop, Function function) {
    const auto body = [&]() -> task<> {
        function();
        co_return;
    };
    loop.run(body());
}

constexpr misuse exceptions[]{
    {"AnExceptionLeavesATask",
     [] {
         run_loop loop;
         loop.spawn(fail("left the task"));
         loop.run_until_idle();
     },
     "left the task"},
    {"AnExceptionLeavesWorkOfAScope",
     [] {
         run_loop loop;
         task_scope scope(loop);
         scope.spawn(fail("left the task"));
         loop.run(scope.join());
     },
     "left the task"},
};
INSTANTIATE_TEST_SUITE_P(, Misuse, ::testing::ValuesIn(exceptions));

// ---- What assertions catch

#ifndef NDEBUG

bare_coroutine schedule_on(executor_ref there) {
    co_await there.schedule();
}

detached_coroutine block_after_an_exchange(exchanger<int>& ex) {
    static_cast<void>(co_await ex.exchange(1));
    static_cast<void>(sync_wait(ex.exchange(2)));
}

detached_coroutine exchange_and_end(exchanger<int>& ex, std::unique_ptr<inplace_stop_source>& own) {
    static_cast<void>(co_await ex.exchange(1, own->get_token()));
    own.reset();
}

using swap_set = case_set<int, exchange_case<exchanger<int>>>;

void destroy_own_task(bool at_the_start) {
    run_loop loop;
    std::optional<task<>> own;
    const auto body = [&]() -> task<> {
        if (!at_the_start) {
            co_await loop.schedule();
        }
        own.reset();
    };
    const auto await = [](task<>& work) -> task<> { co_await std::move(work); };
    own.emplace(body());
    loop.run(await(*own));
}

constexpr misuse assertions[]{
    {"ALoopRunsWithinItself",
     [] {
         run_loop loop;
         call_on(loop, [&] { loop.run_until_idle(); });
     },
     "not within itself"},
    {"ALoopRunsATaskWithinItself",
     [] {
         run_loop loop;
         call_on(loop, [&] { static_cast<void>(loop.run(give(1))); });
     },
     "not within itself"},
    {"SyncWaitForATaskOnALoopsThread",
     [] {
         run_loop loop;
         call_on(loop, [] { static_cast<void>(sync_wait(give(1))); });
     },
     "must not block"},
    {"SyncWaitForAnExchangeOnALoopsThread",
     [] {
         run_loop loop;
         exchanger<int> ex;
         call_on(loop, [&] { static_cast<void>(sync_wait(ex.exchange(1))); });
     },
     "must not block"},
    {"ABareCoroutineBlocksThePartnerThatResumesIt",
     [] {
         exchanger<int> ex;
         block_after_an_exchange(ex);
         run_loop loop;
         loop.run(swap(ex, 3));
     },
     "must not block"},
    {"ATaskIsAwaitedTwice",
     [] {
         task<int> work = give(1);
         sync_wait(work.when_ready());
         sync_wait(work.when_ready());
     },
     "awaited only once"},
    {"AnEmptyTaskIsAwaited", [] { sync_wait(task<>()); }, "awaited only once"},
    {"ATaskDestroysItselfAtItsStart", [] { destroy_own_task(true); }, "a task destroyed itself"},
    {"ATaskDestroysItselfLater", [] { destroy_own_task(false); }, "a task destroyed itself"},
    {"AHandleIsAwaitedTwice",
     [] {
         run_loop loop;
         auto handle = loop.spawn_future(give(1));
         EXPECT_EQ(loop.run(handle), 1);
         static_cast<void>(loop.run(handle));
     },
     "await it only once"},
    {"AScopeHasNoExecutor", [] { task_scope(); }, "needs an executor"},
    {"AScopeIsUsedOnAnotherExecutor",
     [] {
         run_loop loop;
         task_scope scope(loop);
         run_loop other;
         call_on(other, [&] { scope.spawn(task<>()); });
     },
     "on its own executor"},
    {"AScopeIsJoinedOnAnotherExecutor",
     [] {
         run_loop loop;
         task_scope scope(loop);
         scope.spawn(turns(loop, 1));
         sync_wait(scope.join());
     },
     "on its own executor"},
    {"AStopSourceIsDestroyedByACallback",
     [] {
         auto source = std::make_unique<inplace_stop_source>();
         const inplace_stop_callback callback(source->get_token(), [&source] { source.reset(); });
         source->request_stop();
     },
     "an inplace_stop_source was destroyed by a callback"},
    {"AStopSourceIsDestroyedByACoroutineThatItStops",
     [] {
         auto source = std::make_unique<inplace_stop_source>();
         exchanger<int> ex;
         exchange_and_end(ex, source);
         source->request_stop();
     },
     "an inplace_stop_source was destroyed by a callback"},
    {"AChannelOfOneThreadIsUsedByASecond",
     [] {
         channel<int, single_threaded> ch(1);
         EXPECT_TRUE(ch.try_send(1));
         std::thread([&] { static_cast<void>(ch.try_receive()); }).join();
     },
     "single_threaded was used by a second thread"},
    {"ABatchIsSentTwice",
     [] {
         channel<int> ch(4);
         int items[]{1, 2};
         auto batch = ch.send_all(items);
         EXPECT_TRUE(sync_wait(std::move(batch)));
         static_cast<void>(sync_wait(std::move(batch)));
     },
     "awaited only once"},
    {"ASelectionIsAwaitedTwice",
     [] {
         exchanger<int> ex;
         auto once = select(ex.exchange(1), 0s);
         static_cast<void>(sync_wait(once));
         static_cast<void>(sync_wait(once));
     },
     "only once"},
    {"AnExchangeThatWasAwaitedIsSelected",
     [] {
         exchanger<int> ex;
         ex.close();
         auto before = ex.exchange(1);
         static_cast<void>(sync_wait(before));
         static_cast<void>(select(std::move(before)));
     },
     "cannot be passed on"},
    {"ASelectionIsOnBothSidesOfAChannel",
     [] {
         synchronous_channel<int> ch;
         static_cast<void>(select(ch.send(1), ch.receive()));
     },
     "both sides of one exchanger"},
    {"ASelectionIsOnBothSidesOfOneOfItsChannels",
     [] {
         channel<int> ch(1);
         channel<int> other(1);
         static_cast<void>(try_select(ch.receive(), other.send(1), ch.receive(), ch.send(1)));
     },
     "both sides of one exchanger"},
    {"ASetIsOnBothSidesOfAnExchanger",
     [] {
         exchanger<int> ex;
         swap_set set;
         set.add(ex.exchange(1), 1);
         set.add(ex.exchange(2), 2);
     },
     "must not be on both sides of one exchanger"},
    {"ACaseThatIsNotInASetIsArmed",
     [] { swap_set().rearm(swap_set::handle<exchange_case<exchanger<int>>>(), 1); },
     "refers to no case"},
    {"TheTokenOfNoCaseIsTaken", [] { static_cast<void>(swap_set().try_next().token()); },
     "no case took place"},
    {"AFutureHasTwoPromises",
     [] {
         future<int> reply;
         const promise<int> p = reply.get_promise();
         static_cast<void>(reply.get_promise());
     },
     "a future has one promise"},
    {"TwoPartiesWaitForAFuture",
     [] {
         future<int> reply;
         const auto first = start_bare([&] { return reply.get(); });
         const auto second = start_bare([&] { return reply.get(); });
     },
     "two parties must not wait"},
    {"AScheduleOnNoExecutor", [] { static_cast<void>(executor_ref().schedule()); },
     "needs an executor"},
    {"AQueuedFrameIsDestroyedWhereNothingCanBeRetracted",
     [] {
         queue_executor queue;
         bare_coroutine queued = schedule_on(queue.ref());
         queued.destroy();
     },
     "cannot retract"},
};
INSTANTIATE_TEST_SUITE_P(Assertions, Misuse, ::testing::ValuesIn(assertions));

// ---- Work that destroys its own scope

/// As a connection does that removes itself from a map.
struct owner {
    run_loop loop;
    exchanger<int> ex;
    std::unique_ptr<task_scope> scope = std::make_unique<task_scope>(loop);
};

task<> end(owner& own) {
    own.scope.reset();
    co_return;
}

bare_coroutine end_after_an_exchange(owner& own) {
    static_cast<void>(co_await own.ex.exchange(1));
    own.scope.reset();
}

struct way_to_the_end {
    const char* name;
    task<> (*go)(owner& own); ///< Each makes the work run in another way before it destroys.
};
/// Awaits what `Make` makes before that.
template <class Make>
constexpr way_to_the_end after(const char* name, Make) {
    return {name, [](owner& own) -> task<> {
                static_cast<void>(co_await Make()(own));
                own.scope.reset();
            }};
}
constexpr way_to_the_end ways_to_the_end[]{
    {"at its start", end},
    after("a schedule", [](owner& own) { return own.loop.schedule(); }),
    after("an exchange", [](owner& own) { return own.ex.exchange(1); }),
    after("a select", [](owner& own) { return select(own.ex.exchange(1)); }),
    after("a sleep", [](owner&) { return sleep_for(1ns); }),
    after("a task that was suspended", [](owner& own) { return turns(own.loop, 2); }),
    after("a task that was not", [](owner& own) { return turns(own.loop, 0); }),
    after("when_all", [](owner& own) { return when_all(turns(own.loop, 1), turns(own.loop, 2)); }),
    after("when_any",
          [](owner& own) {
              return when_any([&own](auto stop) { return own.ex.exchange(1, stop); });
          }),
    after("a handle", [](owner& own) { return own.loop.spawn_future(turns(own.loop, 2)); }),
    {"in a task that it awaits", [](owner& own) -> task<> { co_await end(own); }},
    {"in when_all", [](owner& own) -> task<> { co_await when_all(turns(own.loop, 1), end(own)); }},
    {"in a coroutine that it resumes inline",
     [](owner& own) -> task<> {
         std::optional<bare_coroutine> inner;
         std::thread([&] { inner.emplace(end_after_an_exchange(own)); }).join();
         static_cast<void>(own.ex.try_exchange(1));
         co_return;
     }},
};

void end_by_own_work(const way_to_the_end& way, bool has_handle) {
    owner own;
    join_handle<> handle;
    if (has_handle) {
        handle = own.scope->spawn_future(way.go(own));
    } else {
        own.scope->spawn(way.go(own));
    }
    own.loop.run_until_idle();
    static_cast<void>(own.ex.try_exchange(2)); // for those that wait for it
    while (own.scope != nullptr) {
        own.loop.run_until_idle();
    }
}

TEST(MisuseOfAScope, ByItsOwnWorkEndsTheProgram) {
    // "a task destroyed itself" or "a task_scope on its own executor": on Windows there is no `|`.
    const char* const message = "tryst: .*a task.* its";
    for (const way_to_the_end& way : ways_to_the_end) {
        EXPECT_DEATH(end_by_own_work(way, false), message) << way.name;
        EXPECT_DEATH(end_by_own_work(way, true), message) << way.name;
    }
}

#endif

} // namespace
} // namespace tryst::test
