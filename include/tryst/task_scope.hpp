// SPDX-License-Identifier: MIT
/// @file
/// A scope for spawned work: none of it outlives the scope.
/// Standard library only.
#pragma once

#include <tryst/detail/run/awaitable.hpp>
#include <tryst/detail/run/linked_list.hpp>
#include <tryst/detail/run/root.hpp>
#include <tryst/detail/run/wrong_coroutine.hpp>
#include <tryst/executor.hpp>
#include <tryst/join_handle.hpp>
#include <tryst/task.hpp>

#include <cassert>
#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>
#include <version>

#ifdef __cpp_lib_jthread
#include <stop_token>
#endif

namespace tryst {
/// @addtogroup waiting
/// @{

/// Owns spawned work, as the counting scope of P3149 does, on one executor: no work outlives it.
///
///     tryst::task_scope scope; // in a task: on the task's executor
///     scope.spawn(serve(connection, scope.get_stop_token()));
///     ...
///     scope.request_stop();
///     co_await scope.join();
///
/// The destructor destroys the frames of work that has not finished, as the destructor of a loop
/// does. This withdraws its offers and ends its sleeps at once. So an exception may leave the block
/// of the scope between `spawn` and `join`. To let the work finish first, await `join`.
///
/// All members except `request_stop` and `get_stop_token` must be called on the executor of the
/// scope, or while it does not run. The same holds for the destructor; then no work of the scope
/// may be running elsewhere, or be queued on another loop that is running. Work must not destroy
/// its own scope: spawn a task on the executor that does so. To spawn from another thread, first
/// move to the executor by `co_await executor.schedule()`.
///
/// @throws      only where it is documented.
/// @allocation  one block for the stop state.
class task_scope {
public:
    /// A scope on the executor that runs on this thread.
    /// @throws std::bad_alloc.
    task_scope() : task_scope(current_executor()) {}

    /// A scope on `executor`, which must run one node at a time, and outlive the scope.
    /// @throws std::bad_alloc.
    explicit task_scope(executor_ref executor) : executor_(executor) {
        assert(executor && "tryst: a task_scope needs an executor, such as a run_loop");
    }

    /// A scope on a loop.
    /// @throws std::bad_alloc.
    template <class Loop>
        requires requires(const Loop& loop) {
            { loop.executor() } -> std::same_as<executor_ref>;
        }
    explicit task_scope(const Loop& loop) : task_scope(loop.executor()) {}

    task_scope(task_scope&&) = delete;

    /// Destroys the frames of work that has not finished, last spawned first.
    ~task_scope() {
        assert(joiner_ == nullptr && "tryst: a task_scope was destroyed while it was being joined");
        check_executor();
        closed_ = true;
        const executor_scope here(is_ending_here() ? current_executor() : executor_);
        while (!empty()) {
            if (tasks_.front()->run != nullptr) { // not started
                executor_.retract(tasks_.front());
            }
            ended(*tasks_.front());
        }
    }

    /// Starts `work`, a task or another awaitable without a result, which the scope owns until it
    /// finishes. Never runs any of it before returning. An exception that leaves `work` calls
    /// `std::terminate`; to handle it, use `spawn_future`.
    /// @param where  the call, for debuggers.
    /// @returns false if the scope is closed. Then `work` is destroyed unstarted.
    /// @throws std::bad_alloc; then `work` is destroyed unstarted.
    /// @allocation one coroutine frame, and another if `work` is not a task.
    template <detail::awaitable Work>
    bool spawn(Work work, detail::location where = detail::location::current()) {
        check_executor();
        if (closed_) {
            return false;
        }
        auto& made = roots::own(*this, detail::as_spawned(std::move(work))).release();
        made.spawned_at.set(where);
        made.run = [](executor_node* node) noexcept {
            node->run = nullptr;
            roots::coroutine(static_cast<detail::spawned_task&>(*node)).resume();
        };
        tasks_.push_front(made);
        executor_.post(&made);
        return true;
    }

    /// As `spawn`, for work with a result or an exception, which its handle passes on.
    /// @returns the handle. If the scope is closed, awaiting it throws as for destroyed work.
    /// @throws std::bad_alloc.
    template <detail::awaitable Work>
    join_handle<detail::awaited<Work>>
    spawn_future(Work work, detail::location where = detail::location::current()) {
        return detail::spawn_joined(std::move(work),
                                    [&](task<> run) { spawn(std::move(run), where); });
    }

    /// Makes every later `spawn` fail. The work that has been spawned goes on.
    void close() noexcept {
        check_executor();
        closed_ = true;
    }

    /// `co_await scope.join()`: waits until no work is left. Work may still be spawned meanwhile,
    /// and after it. One coroutine at a time may wait, on the executor of the scope.
    /// @throws nothing.  @resumes on the executor of the scope, through its queue; does not suspend
    ///   if no work is left.  @cancellation none. The joining coroutine may be destroyed, on the
    ///   executor, before the scope.  @allocation none.
    [[nodiscard]] auto join() noexcept { return join_operation(*this); }

    /// Whether no work is left.
    bool empty() const noexcept { return tasks_.empty(); }

#ifdef __cpp_lib_jthread
    /// Requests a stop of all work that uses `get_stop_token`. Call from any thread during the
    /// scope's lifetime, which may end before this returns, because the work ends.
    /// @returns whether this was the first request.
    bool request_stop() noexcept {
        std::stop_source stop = stop_; // keeps the state until the return
        return stop.request_stop();
    }

    /// The token that `request_stop` concerns. Pass it to the work.
    std::stop_token get_stop_token() const noexcept { return stop_.get_token(); }
#endif

private:
    using roots = detail::root<task_scope>;
    friend roots;

    class [[nodiscard]] join_operation : private executor_node, public detail::not_in_asio {
    public:
        explicit join_operation(task_scope& scope) noexcept : scope_(scope) {}
        join_operation(join_operation&&) = delete;
        ~join_operation() {
            if (scope_.joiner_ == this) {
                scope_.joiner_ = nullptr;
                if (queued_) {
                    scope_.executor_.retract(this);
                }
            }
        }

        bool await_ready() const noexcept { return scope_.empty(); }
        template <class Promise>
        void await_suspend(std::coroutine_handle<Promise> coroutine,
                           detail::location where = detail::location::current()) noexcept {
            assert(tryst::executor_of(coroutine) == scope_.executor_ &&
                   "tryst: join a task_scope on its own executor");
            assert(scope_.joiner_ == nullptr && "tryst: a task_scope is being joined already");
            coroutine_ = coroutine;
            where_.set(where);
            scope_.joiner_ = this;
            run = [](executor_node* node) noexcept {
                auto& self = *static_cast<join_operation*>(node);
                self.queued_ = false;
                if (self.scope_.empty()) { // otherwise work was spawned in the meantime
                    self.scope_.joiner_ = nullptr;
                    self.coroutine_.resume();
                }
            };
        }
        void await_resume() const noexcept {}

        /// Called when no work is left.
        void wake() noexcept {
            if (!std::exchange(queued_, true)) {
                scope_.executor_.post(this);
            }
        }

    private:
        task_scope& scope_;
        std::coroutine_handle<> coroutine_;
        detail::location_slot where_; // directly behind `coroutine_`, for debuggers
        bool queued_ = false;
    };

    /// Fails if another executor runs here. (A plain thread may use an executor that does not run.)
    void check_executor() const noexcept {
        assert((executor_.running_here() || is_ending_here() || detail::may_block()) &&
               "tryst: use a task_scope on its own executor; see executor_ref::schedule");
    }

    bool is_ending_here() const noexcept { return detail::ending_scope::is_ending_here(executor_); }

    executor_ref executor() const noexcept { return executor_; }

    /// Destroys the frame of a task, which is suspended.
    void ended(detail::spawned_task& task) noexcept {
        tasks_.remove(task);
        roots::coroutine(task).destroy();
        if (empty() && joiner_ != nullptr) {
            joiner_->wake();
        }
    }

    executor_ref executor_;
    detail::linked_list<detail::spawned_task> tasks_;
    join_operation* joiner_ = nullptr;
    bool closed_ = false;
#ifdef __cpp_lib_jthread
    std::stop_source stop_;
#endif
};

/// @}
} // namespace tryst
