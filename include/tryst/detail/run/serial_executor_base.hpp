// SPDX-License-Identifier: MIT
/// @file
/// The common part of executors that run one node at a time: their interface to tasks and to other
/// executors.
/// Standard library only.
#pragma once

#include <tryst/detail/run/awaitable.hpp>
#include <tryst/detail/run/serial_queue.hpp>
#include <tryst/executor.hpp>
#include <tryst/join_handle.hpp>
#include <tryst/task.hpp>

#include <cassert>
#include <type_traits>
#include <utility>

namespace tryst::detail {

/// A queue of ready nodes as an executor. `Temporary` is as in `executor_vtable`. `Derived` has
/// - `void deliver(executor_node*)`, called outside the executor's turns, by any thread: puts a
///   node where `take_mail` finds it, and makes the executor run;
/// - `executor_node* take_mail()`, which returns a list in the order of delivery;
/// - optionally `time_point now()`, `void arm(timer_node*)` and `void disarm(timer_node*)`, the
///   timers.
template <class Derived, bool Temporary>
class serial_executor_base {
public:
    /// Starts `work`, a task or another awaitable without a result, on this executor, which owns it
    /// until it finishes. Never runs any of it before returning. The executor does not report its
    /// end; for that, use `spawn_future`, a `task_scope` or `when_all`. An exception that leaves
    /// `work` calls `std::terminate`, as for a thread. Call from any thread.
    /// @param where  the call, for debuggers.
    /// @throws std::bad_alloc if there is no memory for one coroutine frame, or two if `work` is
    ///   not a task. Then `work` is destroyed unstarted.
    template <awaitable Work>
    void spawn(Work work, location where = location::current()) {
        assert(detail::shares_variables(executor()) &&
               "tryst: a plugin uses its program's loop: see docs/install.md");
        post(queue_.spawn(detail::as_spawned(std::move(work)), where));
    }

    /// As `spawn`, for work with a result or an exception, which its handle passes on.
    template <awaitable Work>
    join_handle<awaited<Work>> spawn_future(Work work, location where = location::current()) {
        return detail::spawn_joined(std::move(work),
                                    [&](task<> run) { spawn(std::move(run), where); });
    }

    /// Queues `node`. Call from any thread. @allocation none.
    void post(executor_node* node) noexcept {
        if (derived().in_turn() || ending_scope::is_ending_here(executor())) {
            queue_.push(node); // which discards it at the end
        } else {
            derived().deliver(node);
        }
    }

    /// Whether the calling thread is running this executor.
    bool running_here() const noexcept { return current_executor() == executor(); }

    /// A reference to this executor, which must outlive every use of it.
    executor_ref executor() const noexcept { return queue_.executor(); }

    /// `co_await schedule()`: continues on this executor.
    [[nodiscard]] auto schedule() const noexcept { return executor().schedule(); }

    /// This executor as a scheduler of `std::execution`. Needs `<tryst/execution.hpp>`.
    template <class Scheduler = execution::scheduler>
    Scheduler get_scheduler() const noexcept {
        return Scheduler(executor());
    }

    /// @cond
protected:
    // NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): `Derived` may derive indirectly.
    serial_executor_base() = default;
    ~serial_executor_base() = default;

    /// Whether the calling thread runs the nodes of the queue, and will soon run one that is added.
    bool in_turn() const noexcept { return running_here(); }

    serial_queue& queue() noexcept { return queue_; }

    /// Destroys the frames of the spawned tasks, and calls `destroy_rest`, which destroys the other
    /// frames that wait here. From now on no node runs.
    template <class Destroy>
    void dispose(Destroy destroy_rest) noexcept {
        const ending_scope here(executor());
        queue_.append(derived().take_mail());
        queue_.dispose();
        destroy_rest();
    }

private:
    Derived& derived() noexcept { return static_cast<Derived&>(*this); }
    static serial_executor_base& base(void* context) noexcept {
        return *static_cast<serial_executor_base*>(context);
    }

    bool retract(executor_node* node) noexcept {
        queue_.append(derived().take_mail());
        return queue_.retract(node);
    }

    static constexpr executor_vtable make_vtable() noexcept {
        executor_vtable table{
            .post = [](void* context, executor_node* node) noexcept { base(context).post(node); },
            .serial = true,
            .temporary = Temporary,
            .running_here =
                [](const void* context) noexcept {
                    return static_cast<const serial_executor_base*>(context)->running_here();
                },
            .retract = [](void* context,
                          executor_node* node) noexcept { return base(context).retract(node); },
            .variables = &library_variables,
        };
        if constexpr (requires(Derived& derived, timer_node* node) { derived.arm(node); }) {
            table.now = [](const void* context) noexcept -> timer_node::time_point {
                return static_cast<const Derived*>(
                           static_cast<const serial_executor_base*>(context))
                    ->now();
            };
            table.arm = [](void* context, timer_node* node) noexcept {
                base(context).derived().arm(node);
            };
            table.disarm = [](void* context, timer_node* node) noexcept {
                base(context).derived().disarm(node);
            };
        }
        return table;
    }

    static constexpr executor_vtable vtable = make_vtable();

    // It keeps the reference, because a program and its shared libraries may have a table each. So
    // references are equal wherever they are made.
    serial_queue queue_{executor_ref(this, &vtable)};
    /// @endcond
};

} // namespace tryst::detail
