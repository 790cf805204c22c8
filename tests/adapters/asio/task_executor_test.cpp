// SPDX-License-Identifier: MIT
// Tasks on Asio executors: what ../loops/event_loop_test.cpp does not say of every loop.
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/bare_coroutine.hpp"
#include "support/executor_end.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <latch>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using tryst::task;
using tryst::asio::task_executor;
using tryst::test::census;
using tryst::test::step;
using tryst::test::tracked;
namespace net = tryst::test::net;
using exchanger = tryst::exchanger<int>;

task<> append(std::vector<int>& order, int number) {
    order.push_back(number);
    co_return;
}

/// Goes through the queue of `loop` again and again.
template <class Loop>
task<> go_round(Loop& loop, int times, std::vector<int>& order, int number) {
    for (int i = 0; i != times; ++i) {
        order.push_back(number);
        co_await loop.schedule();
    }
}

/// Waits for a partner, holding a frame that is counted.
task<> hold(exchanger& ex, tracked /*frame*/) {
    static_cast<void>(co_await ex.exchange(1));
}

/// Waits for a partner. The end of its frame spawns another waiting task.
template <class Loop>
task<> spawn_at_end(Loop& loop, exchanger& ex, census& frames) {
    struct spawner {
        Loop& loop;
        exchanger& ex;
        census& frames;
        ~spawner() { loop.spawn(hold(ex, tracked(frames, 2))); }
    };
    const spawner last{loop, ex, frames};
    static_cast<void>(co_await ex.exchange(1));
}

TEST(TaskExecutor, RunsTasksInTurnFirstInFirstOut) {
    constexpr int tasks = 100;
    net::io_context io;
    task_executor loop(io);
    std::vector<int> order;
    for (int i = 0; i != tasks; ++i) { // more than a turn
        loop.spawn(go_round(loop, 3, order, i));
    }
    EXPECT_TRUE(order.empty());
    io.run();
    ASSERT_EQ(order.size(), 3U * tasks);
    for (int i = 0; i != 3 * tasks; ++i) {
        EXPECT_EQ(order[static_cast<std::size_t>(i)], i % tasks);
    }
}

TEST(TaskExecutor, IsTheCurrentExecutorOfItsTasks) {
    net::io_context io;
    task_executor loop(io);
    bool here = false;
    EXPECT_FALSE(loop.executor().running_here());
    loop.spawn([](task_executor<net::io_context::executor_type>& mine, bool& seen) -> task<> {
        seen = mine.executor().running_here() && tryst::current_executor() == mine.executor();
        co_return;
    }(loop, here));
    io.run();
    EXPECT_TRUE(here);
    EXPECT_FALSE(tryst::current_executor());
}

TEST(TaskExecutor, MayBeMadeFromAnyExecutor) {
    net::io_context io;
    std::vector<int> order;
    task_executor<> erased{net::any_io_executor(io.get_executor())};
    task_executor strand(net::make_strand(io));
    task_executor plain(io.get_executor());
    erased.spawn(append(order, 1));
    strand.spawn(append(order, 2));
    plain.spawn(append(order, 3));
    io.run();
    EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST(TaskExecutor, RunsItsTasksInItsStrand) {
    net::thread_pool pool(2);
    const auto strand = net::make_strand(pool);
    task_executor loop(strand);
    std::atomic<bool> inside{false};
    loop.spawn([](const auto& mine, std::atomic<bool>& seen) -> task<> {
        seen = mine.running_in_this_thread();
        co_return;
    }(strand, inside));
    pool.join();
    EXPECT_TRUE(inside);
}

TEST(TaskExecutor, RunsOneNodeAtATimeOnAPool) {
    net::thread_pool pool(2);
    task_executor loop(pool);
    constexpr int tasks = 8;
    constexpr int rounds = 2'000;
    int alone = 0; // plain: a data race if two nodes run at once
    std::atomic<int> inside{0};
    std::latch begin(1);
    std::vector<std::thread> spawners;
    for (int i = 0; i != tasks; ++i) {
        spawners.emplace_back([&] {
            begin.wait();
            loop.spawn([](auto& mine, int& count, std::atomic<int>& nodes) -> task<> {
                for (int round = 0; round != rounds; ++round) {
                    EXPECT_EQ(nodes.fetch_add(1), 0);
                    ++count;
                    nodes.fetch_sub(1);
                    co_await mine.schedule();
                }
            }(loop, alone, inside));
        });
    }
    begin.count_down();
    for (std::thread& each : spawners) {
        each.join();
    }
    pool.join();
    EXPECT_EQ(alone, tasks * rounds);
}

TEST(TaskExecutor, MayShareAPoolWithAnother) {
    net::thread_pool pool(2);
    task_executor first(pool);
    task_executor second(pool);
    std::barrier both(2); // is passed only if the two run at the same time
    const auto meet = [](std::barrier<>& there) -> task<> {
        there.arrive_and_wait();
        co_return;
    };
    first.spawn(meet(both));
    second.spawn(meet(both));
    pool.join();
}

TEST(TaskExecutor, ExchangesBetweenItsTasksWithoutTheContextsQueue) {
    net::io_context io;
    task_executor loop(io);
    exchanger ex;
    int swaps = 0;
    const auto party = [](exchanger& room, int& count) -> task<> {
        for (int i = 0; i != 10; ++i) {
            const auto got = co_await room.exchange(i);
            EXPECT_EQ(*got, i);
            ++count;
        }
    };
    loop.spawn(party(ex, swaps));
    loop.spawn(party(ex, swaps));
    EXPECT_EQ(io.poll_one(), 1U);
    EXPECT_EQ(swaps, 20);
}

TEST(TaskExecutor, KeepsItsContextRunningUntilItsTasksAreDone) {
    census frames; // outlives the loop, which destroys suspended tasks
    exchanger ex;
    net::io_context io;
    task_executor loop(io);
    step(io);
    EXPECT_TRUE(io.stopped()); // it has no tasks yet
    loop.spawn(hold(ex, tracked(frames, 1)));
    step(io);
    EXPECT_FALSE(io.stopped());
    EXPECT_EQ(frames.alive.load(), 1);
    std::thread partner([&] { EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1); });
    io.run();
    partner.join();
    EXPECT_EQ(frames.alive.load(), 0);
    loop.spawn(hold(ex, tracked(frames, 1)));
    step(io);
    EXPECT_FALSE(io.stopped());
}

// ---- Destruction. Whatever goes first, each frame is destroyed once.

class TaskExecutorEnd : public ::testing::TestWithParam<bool> {
protected:
    using loop_type = task_executor<net::io_context::executor_type>;

    ~TaskExecutorEnd() override { EXPECT_EQ(frames.alive.load(), 0); }

    /// Destroys the context and the executor, in the order of the parameter.
    void end() {
        if (GetParam()) {
            io.reset();
            EXPECT_EQ(frames.alive.load(), 0);
            loop.reset();
        } else {
            loop.reset();
            EXPECT_EQ(frames.alive.load(), 0);
            if (!io->stopped()) {
                io->run(); // nothing keeps it
            }
            io.reset();
        }
    }
    void spawn_holder() { loop->spawn(hold(ex, tracked(frames, 1))); }

    census frames;
    exchanger ex;
    std::unique_ptr<net::io_context> io = std::make_unique<net::io_context>();
    std::unique_ptr<loop_type> loop = std::make_unique<loop_type>(*io);
};

TEST_P(TaskExecutorEnd, WithoutTasks) {
    end();
}

TEST_P(TaskExecutorEnd, WithTasksOfAllKindsAtOnce) {
    exchanger other;
    spawn_holder();
    loop->spawn(hold(other, tracked(frames, 2)));
    step(*io);
    EXPECT_EQ(*other.try_exchange(2), 1);
    spawn_holder();
    loop->spawn(hold(other, tracked(frames, 3)));
    end();
    EXPECT_FALSE(ex.try_exchange(2)); // the offer is withdrawn
    EXPECT_FALSE(other.try_exchange(2));
}

TEST_P(TaskExecutorEnd, WithATaskThatEndsAnothersWait) {
    struct closer {
        exchanger* room;
        ~closer() { room->close(); }
    };
    spawn_holder();
    exchanger other;
    const auto close_at_end = [](exchanger& room, exchanger& closed, tracked) -> task<> {
        const closer last{&closed};
        static_cast<void>(co_await room.exchange(1));
    };
    loop->spawn(close_at_end(other, ex, tracked(frames, 2)));
    step(*io);
    end();
}

TEST_P(TaskExecutorEnd, WithAnExchangerThatIsDestroyedFirst) {
    auto gone = std::make_unique<exchanger>();
    loop->spawn(hold(*gone, tracked(frames, 1)));
    step(*io);
    gone.reset();
    end();
}

TEST_P(TaskExecutorEnd, WithATaskWhoseFrameSpawnsAnotherOne) {
    loop->spawn(spawn_at_end(*loop, ex, frames));
    step(*io);
    end();
}

TEST_P(TaskExecutorEnd, WhilePartnersComeFromAnotherThread) {
    for (int round = 0; round != 300; ++round) {
        io = std::make_unique<net::io_context>();
        loop = std::make_unique<loop_type>(*io);
        for (int i = 0; i != 3; ++i) {
            spawn_holder();
        }
        step(*io);
        std::atomic<bool> over{false};
        std::latch there(1);
        std::thread partner([&] {
            there.count_down();
            while (!over.load()) {
                static_cast<void>(ex.try_exchange(2));
            }
        });
        there.wait();
        end();
        over = true;
        partner.join();
        ASSERT_EQ(frames.alive.load(), 0);
    }
}

/// Ends the executor, or the context and then the executor.
template <bool ContextFirst>
struct ending_executor {
    auto& on() { return *loop; }
    void settle() { step(*io); }
    void end() {
        if (ContextFirst) {
            io.reset();
        }
        loop.reset();
    }
    std::unique_ptr<net::io_context> io = std::make_unique<net::io_context>();
    std::unique_ptr<task_executor<net::io_context::executor_type>> loop =
        std::make_unique<task_executor<net::io_context::executor_type>>(*io);
};

TEST_P(TaskExecutorEnd, LeavesNothingToADyingExecutor) {
    if (GetParam()) {
        tryst::test::executor_end<ending_executor<true>>::check();
    } else {
        tryst::test::executor_end<ending_executor<false>>::check();
    }
}

INSTANTIATE_TEST_SUITE_P(, TaskExecutorEnd, ::testing::Bool(), [](const auto& first) {
    return first.param ? "OfTheContextFirst" : "OfTheExecutorFirst";
});

/// Waits as a coroutine of another library, which does not own its frame.
tryst::test::bare_coroutine wait_bare(exchanger& ex) {
    static_cast<void>(co_await ex.exchange(1));
}

TEST(TaskExecutor, RunsTasksAfterAFrameWasDestroyedBetweenTurns) {
    net::io_context io;
    task_executor loop(io);
    exchanger ex;
    std::vector<int> order;
    {
        std::optional<tryst::test::bare_coroutine> waiting;
        loop.spawn([](exchanger& at, std::optional<tryst::test::bare_coroutine>& into) -> task<> {
            into.emplace(wait_bare(at));
            co_return;
        }(ex, waiting));
        io.run();
    }
    loop.spawn(append(order, 1));
    io.restart();
    io.run();
    EXPECT_EQ(order, std::vector{1});
}

TEST(TaskExecutor, IsWokenByWorkThatIsDestroyedBetweenTurns) {
    net::io_context io;
    exchanger ex;
    tryst::join_handle<int> result;
    bool was_lost = false;
    task_executor loop(io);
    auto scope = std::make_unique<tryst::task_scope>(loop.executor());
    result = scope->spawn_future([](exchanger& at) -> task<int> {
        const auto got = co_await at.exchange(1);
        co_return *got;
    }(ex));
    loop.spawn([](tryst::join_handle<int>& awaited, bool& lost) -> task<> {
        try {
            static_cast<void>(co_await awaited);
        } catch (const std::system_error&) {
            lost = true;
        }
    }(result, was_lost));
    step(io);
    scope.reset();
    step(io);
    EXPECT_TRUE(was_lost);
}

TEST(TaskExecutor, IsWokenWithinAnExecutorScopeBetweenTurns) {
    net::io_context io;
    std::vector<int> order;
    task_executor loop(io);
    const tryst::executor_scope here(loop.executor());
    loop.spawn(append(order, 1));
    step(io);
    loop.spawn(append(order, 2));
    step(io);
    EXPECT_EQ(order, (std::vector{1, 2}));
}

TEST(TaskExecutor, MayOutliveTheContextOfItsStrand) {
    auto io = std::make_unique<net::io_context>();
    const tryst::asio::task_executor loop(net::any_io_executor(net::make_strand(*io)));
    io.reset();
}

TEST(TaskExecutor, MayBeDestroyedOnItsExecutor) {
    census frames;
    net::io_context io;
    exchanger ex;
    auto loop = std::make_unique<task_executor<net::io_context::executor_type>>(io);
    loop->spawn(hold(ex, tracked(frames, 1)));
    net::post(io, [&] {
        EXPECT_EQ(*ex.try_exchange(2), 1); // queues a turn
        loop.reset();
        EXPECT_EQ(frames.alive.load(), 0);
    });
    io.run();
    EXPECT_EQ(frames.alive.load(), 0);
}

} // namespace
