// SPDX-License-Identifier: MIT
// What each way to run work to its end promises.
#include <tryst/sync_wait.hpp>

#include <tryst/sleep.hpp>
#include <tryst/task_scope.hpp>
#include <tryst/when_all.hpp>
#include <tryst/when_any.hpp>

#include "support/loop_thread.hpp"
#include "support/works.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <coroutine>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

struct by_sync_wait {
    template <class Work>
    static auto run(Work work) {
        return sync_wait(std::move(work));
    }
};
struct by_loop {
    template <class Work>
    static auto run(Work work) {
        run_loop loop(sleep_at_once);
        return loop.run(std::move(work));
    }
};
struct by_task {
    template <class Work>
    static task<std::decay_t<detail::awaited<Work>>> await(Work work) {
        co_return co_await std::move(work);
    }
    template <class Work>
    static auto run(Work work) {
        return sync_wait(await(std::move(work)));
    }
};
struct by_handle {
    template <class Work>
    static auto run(Work work) {
        loop_thread thread(sleep_at_once);
        return sync_wait(thread->spawn_future(std::move(work)));
    }
};
struct by_scope {
    template <class Work>
    static auto run(Work work) {
        run_loop loop;
        task_scope scope(loop);
        auto handle = scope.spawn_future(std::move(work));
        loop.run(scope.join());
        return loop.run(std::move(handle));
    }
};
struct by_when_all {
    template <class Work>
    static auto run(Work work) {
        return std::get<0>(sync_wait(when_all(std::move(work))));
    }
};
struct by_when_any {
    template <class Work>
    static auto run(Work work) {
        auto got = sync_wait(when_any([&work](auto) { return std::move(work); }));
        return got.template get<0>();
    }
};

template <class Way>
class Runs : public ::testing::Test {};
using ways =
    ::testing::Types<by_sync_wait, by_loop, by_task, by_handle, by_scope, by_when_all, by_when_any>;
TYPED_TEST_SUITE(Runs, ways);

TYPED_TEST(Runs, ATaskAndReturnWhatItReturns) {
    EXPECT_EQ(TypeParam::run(give(7)), 7);
    std::vector<int> log;
    TypeParam::run(append(log, 8));
    EXPECT_EQ(log, std::vector{8});
}

TYPED_TEST(Runs, ATaskAndMoveItsResultWithoutLosingIt) {
    census kept;
    {
        const tracked got = TypeParam::run(give(tracked(kept, 1)));
        EXPECT_EQ(got.id(), 1);
        EXPECT_EQ(kept.alive, 1);
    }
    EXPECT_EQ(kept.created, 1);
    EXPECT_EQ(kept.alive, 0);
}

TYPED_TEST(Runs, ATaskAndThrowWhatItThrows) {
    EXPECT_EQ(message_of([] { TypeParam::run(fail("without a value")); }), "without a value");
    EXPECT_EQ(message_of([] { static_cast<void>(TypeParam::run(fail<int>("with one"))); }),
              "with one");
}

TYPED_TEST(Runs, ATaskAndFreeItsFrame) {
    census kept;
    TypeParam::run(keep(tracked(kept, 1)));
    EXPECT_EQ(kept.created, 1);
    EXPECT_EQ(kept.alive, 0);
}

TYPED_TEST(Runs, ATaskWhoseExecutorTheyAreMeanwhile) {
    const auto ask = []() -> task<bool> { co_return static_cast<bool>(current_executor()); };
    EXPECT_TRUE(TypeParam::run(ask()));
    EXPECT_FALSE(current_executor());
}

TYPED_TEST(Runs, ATaskThatWaitsForAnotherThread) {
    exchanger<int> ex;
    for (int i = 0; i != 100; ++i) {
        std::thread partner([&] { EXPECT_EQ(*sync_wait(ex.exchange(i)), -i); });
        EXPECT_EQ(TypeParam::run(swap(ex, -i)), i);
        partner.join();
    }
}

TYPED_TEST(Runs, ATaskThatSleepsAndNeverWakeItEarly) {
    const auto nap = [](std::chrono::microseconds patience) -> task<bool> {
        const auto start = std::chrono::steady_clock::now();
        const bool passed = co_await sleep_for(patience);
        co_return passed&& std::chrono::steady_clock::now() - start >= patience;
    };
    EXPECT_TRUE(TypeParam::run(nap(50us)));
    EXPECT_TRUE(TypeParam::run(nap(3000us)));
}

TYPED_TEST(Runs, ATaskThatEndsOnAnotherLoop) {
    loop_thread other(sleep_at_once);
    const auto fail_there = [](run_loop& there) -> task<> {
        co_await there.schedule();
        throw std::runtime_error("thrown elsewhere");
    };
    for (int i = 0; i != 200; ++i) {
        ASSERT_EQ(TypeParam::run(hop(*other, i)), i);
        ASSERT_EQ(message_of([&] { TypeParam::run(fail_there(*other)); }), "thrown elsewhere");
    }
}

/// An awaitable of another library, which completes at once.
struct ready_text {
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    const std::string& await_resume() const noexcept { return text; }
    std::string text;
};
/// Likewise, with a member `operator co_await` for rvalues only.
struct wrapped_text {
    ready_text operator co_await() && { return {std::move(text)}; }
    std::string text;
};

TYPED_TEST(Runs, AnyAwaitable) {
    EXPECT_EQ(TypeParam::run(ready_text{"a"}), "a");
    EXPECT_EQ(TypeParam::run(wrapped_text{"b"}), "b");
    EXPECT_TRUE(TypeParam::run(sleep_for(1us)));
}

TEST(RunsWithoutAMove, AnOperationOrANamedAwaitable) {
    loop_thread other;
    run_loop loop;
    sync_wait(other->schedule());
    loop.run(loop.schedule());
    exchanger<int> ex;
    EXPECT_EQ(loop.run(ex.exchange(1, 1us)).returned(), 1);
    ready_text named{"c"};
    EXPECT_EQ(sync_wait(named), "c");
    EXPECT_EQ(loop.run(named), "c");
    EXPECT_EQ(std::get<0>(sync_wait(when_all(named))), "c");
}

// ---- Where its awaiter goes on

struct await_kind {
    const char* name;
    task<> (*await)(run_loop& there); ///< Ends on `there`, all or most of it.
};
template <class Make>
constexpr await_kind awaits(const char* name, Make) {
    return {name, [](run_loop& there) -> task<> { static_cast<void>(co_await Make()(there)); }};
}
constexpr await_kind await_kinds[]{
    awaits("a task", [](run_loop& there) { return hop(there, 1); }),
    awaits("when_all",
           [](run_loop& there) { return when_all(hop(there, 1), give(2), hop(there, 3)); }),
    awaits("when_all of a vector",
           [](run_loop& there) {
               std::vector<task<int>> work;
               work.push_back(hop(there, 1));
               work.push_back(give(2));
               return when_all(std::move(work));
           }),
    awaits("when_any",
           [](run_loop& there) {
               const auto work = [&there](auto) { return hop(there, 1); };
               return when_any(work, work);
           }),
    awaits("a handle", [](run_loop& there) { return there.spawn_future(give(1)); }),
    {"join",
     [](run_loop& there) -> task<> {
         const auto leave = [](run_loop& to) -> task<> { co_await to.schedule(); };
         task_scope scope;
         scope.spawn(leave(there));
         scope.spawn(leave(there));
         co_await scope.join();
     }},
    {"an awaitable that knows no executors",
     [](run_loop& there) -> task<> {
         struct elsewhere {
             run_loop& there;
             bool await_ready() const noexcept { return false; }
             void await_suspend(std::coroutine_handle<> self) const {
                 const auto resume = [](std::coroutine_handle<> waiting) -> task<> {
                     waiting.resume();
                     co_return;
                 };
                 there.spawn(resume(self));
             }
             void await_resume() const noexcept {}
         };
         exchanger<int> ex;
         co_await elsewhere{there};
         static_cast<void>(co_await ex.exchange(1, 1ns)); // which brings it home
     }},
};

TEST(RunsElsewhere, AndTheAwaiterComesHome) {
    loop_thread other(sleep_at_once);
    run_loop home;
    for (const await_kind& kind : await_kinds) {
        SCOPED_TRACE(kind.name);
        for (int i = 0; i != 200; ++i) {
            bool at_home = false;
            const auto body = [&]() -> task<> {
                co_await kind.await(*other);
                at_home = home.running_here();
            };
            home.run(body());
            ASSERT_TRUE(at_home);
        }
    }
}

} // namespace
} // namespace tryst::test
