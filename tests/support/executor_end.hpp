// SPDX-License-Identifier: MIT
/// @file
/// What happens to code that uses an executor while that is being destroyed. For every executor.
#pragma once

#include "support/bare_coroutine.hpp"
#include "support/queue_walls.hpp"
#include "support/tracked.hpp"

#include <tryst/run_loop.hpp>
#include <tryst/select.hpp>
#include <tryst/sleep.hpp>
#include <tryst/synchronous_channel.hpp>
#include <tryst/task.hpp>
#include <tryst/task_scope.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

namespace tryst::test {

/// Calls a function in its destructor.
template <class Function>
class at_end {
public:
    explicit at_end(Function function) : function_(std::move(function)) {}
    at_end(at_end&& other) noexcept : function_(std::exchange(other.function_, std::nullopt)) {}
    at_end& operator=(at_end&&) = delete;
    ~at_end() {
        if (function_) {
            (*function_)();
        }
    }

private:
    std::optional<Function> function_;
};

/// Waits for ever, and owns `guard`.
template <class Guard>
task<> wait_with(Guard guard) {
    static_cast<void>(guard);
    static_cast<void>(co_await sleep_for(std::chrono::hours(24)));
    ADD_FAILURE() << "resumed";
}

inline detached_coroutine send_alone(synchronous_channel<int>& channel, int item) {
    static_cast<void>(co_await channel.send(item));
}

inline detached_coroutine time_out_alone(synchronous_channel<int>& channel,
                                         std::promise<bool> end) {
    const auto sent = co_await channel.send(1, std::chrono::milliseconds(1));
    end.set_value(sent.error() == exchange_errc::timed_out);
}

inline bare_coroutine schedule_alone(executor_ref on) {
    co_await on.schedule();
    ADD_FAILURE() << "resumed";
}

inline task<> own_a_scope(synchronous_channel<int>& channel) {
    task_scope scope;
    scope.spawn(wait_with(at_end([&channel, &scope] {
        EXPECT_FALSE(current_executor());
        send_alone(channel, 1);
        EXPECT_FALSE(scope.spawn(wait_with(0)));
    })));
    co_await scope.join();
}

/// Where the work of a scope is when the scope ends.
enum class work_state { not_started, queued, waiting, sleeping, closed, stopped, selected };

inline task<> wait_in(work_state state, synchronous_channel<int>& channel, std::stop_token stop,
                      executor_ref on) {
    switch (state) {
    case work_state::not_started:
        ADD_FAILURE() << "started";
        break;
    case work_state::queued:
        for (int turn = 0; turn != 100; ++turn) {
            co_await on.schedule();
        }
        break;
    case work_state::sleeping:
        static_cast<void>(co_await sleep_for(std::chrono::hours(24), stop));
        break;
    case work_state::selected: {
        synchronous_channel<int> unused;
        static_cast<void>(co_await select(channel.receive(), unused.receive(), stop));
        break;
    }
    default:
        static_cast<void>(co_await channel.receive(stop));
    }
    ADD_FAILURE() << "resumed";
}

/// Ends a scope with much work in `state`, in the middle of the executor's queue.
inline task<> end_amid_the_queue(work_state state, executor_ref on) {
    synchronous_channel<int> channel;
    std::stop_source stop;
    queue_walls walls;
    std::optional<task_scope> scope(std::in_place);
    const auto spawn_all = [&] {
        for (int i = 0; i != 50; ++i) {
            scope->spawn(wait_in(state, channel, stop.get_token(), on));
        }
    };
    if (state == work_state::not_started) {
        walls.begin(on);
        spawn_all();
    } else {
        spawn_all();
        for (int turn = 0; turn != 3; ++turn) {
            co_await on.schedule();
        }
        if (state != work_state::queued) {
            walls.begin(on);
        }
        if (state == work_state::closed || state == work_state::selected) {
            channel.close();
        } else if (state == work_state::stopped) {
            stop.request_stop();
        }
    }
    walls.end(on);
    walls.hidden_during([&] { scope.reset(); });
    co_await on.schedule();
    EXPECT_EQ(walls.runs(), state == work_state::queued ? 2 : 4);
}

/// Destroys frames in the middle of the executor's queue, in the order of `numbers`.
inline task<> destroy_amid_the_queue(std::vector<std::size_t> numbers, executor_ref on) {
    queue_walls walls;
    std::vector<bare_coroutine> frames;
    walls.begin(on);
    for (std::size_t i = 0; i != numbers.size(); ++i) {
        frames.push_back(schedule_alone(on));
    }
    walls.end(on);
    walls.hidden_during([&] {
        for (const std::size_t number : numbers) {
            frames[number].destroy();
        }
    });
    co_await on.schedule();
    EXPECT_EQ(walls.runs(), 4);
}

/// Makes an executor of the type that is tested. It has
/// - `on()`: the executor; not called during `end`;
/// - `settle()`: runs it until all its tasks wait;
/// - `end()`: destroys it, on this thread.
template <class Subject>
class executor_end {
public:
    static void check() {
        finds_queued_work_without_a_search();
        has_no_current_executor();
        serves_no_wait_that_begins_then();
        discards_what_is_posted_then();
        ends_a_scope();
        may_contain_another_end();
        may_run_another_loop();
    }

#ifndef NDEBUG
    /// Each executor says so in words of its own.
    static void fails_if_its_own_task_does_it() {
        for (const bool at_the_start : {true, false}) {
            const auto misuse = [&] {
                Subject subject;
                subject.on().spawn(end_own(subject, subject.on().executor(), at_the_start));
                subject.settle();
            };
            EXPECT_DEATH(misuse(), "tryst: a .*destroy");
        }
    }
#endif

private:
    template <class Function>
    static void during_the_end(Function function) {
        Subject subject;
        bool called = false;
        auto& on = subject.on();
        on.spawn(wait_with(at_end([&called, &on, function]() mutable {
            called = true;
            function(on);
        })));
        subject.settle();
        subject.end();
        EXPECT_TRUE(called);
    }

    /// Ends an executor on which the task that `make` makes has begun.
    template <class Make>
    static void end_after(Make make) {
        Subject subject;
        subject.on().spawn(make(subject.on().executor()));
        subject.settle();
        subject.end();
    }

    /// However long the queue is, because work must not block the executor for long.
    static void finds_queued_work_without_a_search() {
        using enum work_state;
        for (const auto state :
             {not_started, queued, waiting, sleeping, closed, stopped, selected}) {
            end_after([&](executor_ref on) { return end_amid_the_queue(state, on); });
        }
        for (const auto& order :
             {std::vector<std::size_t>{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}}) {
            end_after([&](executor_ref on) { return destroy_amid_the_queue(order, on); });
        }
    }

    static void has_no_current_executor() {
        during_the_end([](auto& on) {
            EXPECT_FALSE(current_executor());
            EXPECT_FALSE(detail::may_block());
            EXPECT_FALSE(on.executor().running_here());
        });
        EXPECT_FALSE(current_executor());
        EXPECT_TRUE(detail::may_block());
    }

    static void serves_no_wait_that_begins_then() {
        synchronous_channel<int> channel;
        std::promise<bool> end;
        auto timed_out = end.get_future();
        during_the_end([&](auto&) {
            send_alone(channel, 1);
            time_out_alone(channel, std::move(end));
        });
        EXPECT_TRUE(timed_out.get());
        EXPECT_EQ(channel.try_receive(), 1); // resumes the sender, which has not adopted it
    }

    static void discards_what_is_posted_then() {
        executor_node posted{};
        posted.run = [](executor_node*) noexcept { ADD_FAILURE() << "run"; };
        during_the_end([&](auto& on) {
            on.executor().post(&posted);
            const bare_coroutine scheduled = schedule_alone(on.executor());
        });
    }

    static void ends_a_scope() {
        synchronous_channel<int> channel;
        end_after([&](executor_ref) { return own_a_scope(channel); });
        EXPECT_TRUE(channel.try_receive());
    }

    /// In a task of it, another executor ends, and uses it.
    static void may_contain_another_end() {
        synchronous_channel<int> channel;
        census kept;
        during_the_end([&](auto& on_outer) {
            during_the_end([&](auto& on_inner) {
                spawn_at_end(on_outer, kept, 2);
                spawn_at_end(on_inner, kept, 2);
                send_alone(channel, 1);
            });
            EXPECT_FALSE(current_executor());
            send_alone(channel, 2);
        });
        EXPECT_EQ(kept.created, 4);
        EXPECT_EQ(kept.alive, 0);
        EXPECT_TRUE(channel.try_receive());
        EXPECT_TRUE(channel.try_receive());
    }

    /// A frame that is destroyed runs a loop.
    static void may_run_another_loop() {
        during_the_end([](auto&) {
            run_loop loop;
            loop.run(loop.schedule());
            EXPECT_FALSE(current_executor());
        });
    }

    static task<> end_own(Subject& subject, executor_ref on, bool at_the_start) {
        if (!at_the_start) {
            co_await on.schedule();
        }
        subject.end();
    }

    /// Spawns a task that never starts. Its destruction spawns another one, and so on.
    template <class Executor>
    static void spawn_at_end(Executor& on, census& kept, int more) {
        if (more != 0) {
            on.spawn(
                wait_with(at_end([&on, &kept, more, mine = std::make_shared<tracked>(kept, more)] {
                    spawn_at_end(on, kept, more - 1);
                })));
        }
    }
};

} // namespace tryst::test
