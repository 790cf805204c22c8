// SPDX-License-Identifier: MIT
/// @file
/// Runs tasks of tryst on an Asio executor.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/registry.hpp>
#include <tryst/asio/detail/serial_executor.hpp>
#include <tryst/asio/detail/work_queue.hpp>
#include <tryst/detail/run/awaitable.hpp>
#include <tryst/executor.hpp>
#include <tryst/join_handle.hpp>
#include <tryst/task.hpp>

#include <cassert>
#include <concepts>
#include <memory>
#include <optional>
#include <utility>

TRYST_ASIO_BEGIN

/// Turns an `asio::io_context`, a strand, a `thread_pool` or any other Asio executor into an
/// executor of tryst. On any Asio executor, tasks run as on a `run_loop`: first in, first out, one
/// at a time. A thread pool runs as many task executors at the same time as it has threads.
///
/// Nodes run in turns of at most 64 nodes. Between turns the context does its other work. A task
/// that makes another task of the same executor ready does not go through Asio's queue.
///
/// `spawn`, `executor` and `schedule` may be called from any thread. The context has outstanding
/// work until the spawned tasks have finished. Their frames are destroyed with this object, or with
/// the context if that is destroyed first. Destroy this object on the Asio executor, if that runs
/// one handler at a time, or while no thread runs the context.
///
/// A timer of the context serves the deadlines of operations that its tasks await.
template <class Executor = net::any_io_executor>
class task_executor {
public:
    /// @throws std::bad_alloc.
    explicit task_executor(const Executor& executor) : core_(std::make_unique<core>(executor)) {}

    /// @throws std::bad_alloc.
    template <std::derived_from<net::execution_context> Context>
    explicit task_executor(Context& context) : task_executor(context.get_executor()) {}

    task_executor(task_executor&&) = delete;

    ~task_executor() { core::release(core_); }

    /// As `run_loop::spawn`. To wait for the end of a task, use `spawn_future` or `async_wait`.
    /// @throws std::bad_alloc; then `work` is destroyed unstarted.
    template <tryst::detail::awaitable Work>
    void spawn(Work work, tryst::detail::location where = tryst::detail::location::current()) {
        core_->spawn(std::move(work), where);
    }

    /// As `spawn`, for work with a result or an exception, which its handle passes on.
    template <tryst::detail::awaitable Work>
    join_handle<tryst::detail::awaited<Work>>
    spawn_future(Work work, tryst::detail::location where = tryst::detail::location::current()) {
        return core_->spawn_future(std::move(work), where);
    }

    /// Returns a reference to this executor, which must outlive every use of it.
    executor_ref executor() const noexcept { return core_->executor(); }

    /// `co_await executor.schedule()` resumes the coroutine on this executor.
    [[nodiscard]] auto schedule() const noexcept { return executor().schedule(); }

    /// This executor as a scheduler of `std::execution`. Needs `<tryst/execution.hpp>`.
    template <class Scheduler = execution::scheduler>
    Scheduler get_scheduler() const noexcept {
        return Scheduler(executor());
    }

private:
    using queue = detail::work_queue<Executor, false>;

    class core final : public detail::serial_executor<queue, false> {
        using base = detail::serial_executor<queue, false>;

    public:
        explicit core(const Executor& executor) : base(queue(executor)), executor_(executor) {
            base::enter(base::find_registry());
            base::begin();
        }

        static void release(std::unique_ptr<core>& self) noexcept {
            assert(!self->running_here() && "tryst: a task must not destroy the task_executor that "
                                            "runs it: post the destruction");
            const bool alone = !self->turns_ || self->leave();
            self->destroy_tasks();
            if (!alone) {
                self.release()->finish(); // the queued turn now owns it
            }
        }

    private:
        void before_sleep() noexcept final {
            if (!base::queue().has_tasks()) {
                work_.reset();
            } else if (!work_) {
                work_.emplace(*executor_);
            }
        }

        void complete() final { delete this; }

        void on_shutdown() noexcept final {
            if (base::is_finished()) { // its owner has left it to the turn
                delete this;
                return;
            }
            destroy_tasks();
            base::turns_.reset(); // a strand must not outlive its context
            executor_.reset();
        }

        void destroy_tasks() noexcept {
            base::dispose([] {});
            work_.reset();
        }

        std::optional<Executor> executor_;
        std::optional<net::executor_work_guard<Executor>> work_;
    };

    std::unique_ptr<core> core_;
};

/// Uses the executor of a context.
template <std::derived_from<net::execution_context> Context>
explicit task_executor(Context&) -> task_executor<typename Context::executor_type>;

TRYST_ASIO_END
