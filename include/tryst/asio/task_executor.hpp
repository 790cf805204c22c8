// SPDX-License-Identifier: MIT
/// @file
/// Running tryst's tasks on an Asio executor.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/registry.hpp>
#include <tryst/asio/detail/serial_executor.hpp>
#include <tryst/asio/detail/work_queue.hpp>
#include <tryst/executor.hpp>
#include <tryst/task.hpp>

#include <cassert>
#include <concepts>
#include <memory>
#include <optional>
#include <utility>

TRYST_ASIO_BEGIN

/// An `asio::io_context`, a strand, a `thread_pool` or any other executor of Asio as an executor of tryst,
/// on which tasks run like on a `run_loop`: first in, first out, one at a time, whatever is below; a pool
/// serves as many of these at the same time as it has threads. Their nodes run in turns of at most 64, between
/// which the context does its other work; what tasks make ready for each other takes no trip through Asio.
///
/// `spawn`, `executor` and `schedule` may be called from any thread. The context has outstanding work while
/// spawned tasks have not finished. Their frames are destroyed with this object, or with the context if
/// that goes first. It must be destroyed on the executor, if that runs one handler at a time, or while the
/// context is not being run.
///
/// Deadlines of operations awaited here are kept by a thread of the library.
template <class Executor = net::any_io_executor>
class task_executor {
public:
    /// @throws std::bad_alloc.
    explicit task_executor(const Executor& executor) : core_(std::make_unique<core>(executor)) {}

    /// @throws std::bad_alloc.
    template <std::derived_from<net::execution_context> Context>
    explicit task_executor(Context& context) : task_executor(context.get_executor()) {}

    task_executor(const task_executor&) = delete;
    task_executor& operator=(const task_executor&) = delete;

    ~task_executor() { core::release(std::move(core_)); }

    /// Starts `work` on the executor, which owns it until it finishes. An exception that leaves `work` is a
    /// `std::terminate`; see `async_wait` for a task whose end somebody waits for.
    /// @throws std::bad_alloc: one coroutine frame; `work` is then destroyed unstarted.
    void spawn(task<> work) { core_->spawn(std::move(work)); }

    /// This as an executor; must outlive its use.
    executor_ref executor() const noexcept { return core_->ref(); }

    /// `co_await loop.schedule()`: goes on here.
    [[nodiscard]] auto schedule() const noexcept { return executor().schedule(); }

private:
    using queue = detail::work_queue<Executor, false>;

    class core final : public detail::serial_executor<queue, false> {
        using base = detail::serial_executor<queue, false>;

    public:
        explicit core(const Executor& executor) : base(queue(executor)), executor_(executor) {
            base::sleep_in_context();
            base::begin();
        }

        void spawn(task<> work) { base::post(base::queue_.spawn(base::ref(), std::move(work))); }

        static void release(std::unique_ptr<core> self) noexcept {
            assert(!self->running_here() && "tryst: a task_executor was destroyed by its own task");
            const bool alone = self->shut_down_ || self->leave();
            self->destroy_tasks();
            if (!alone) {
                self->finish();
                self.release()->orphaned_ = true; // the turn's now
            }
        }

    private:
        void before_sleep() noexcept final {
            if (!base::queue_.has_tasks()) {
                work_.reset();
            } else if (!work_) {
                work_.emplace(*executor_);
            }
        }

        void complete() final { delete this; }

        void on_shutdown() noexcept final {
            if (orphaned_) {
                delete this;
                return;
            }
            shut_down_ = true;
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
        bool shut_down_ = false;
        bool orphaned_ = false;
    };

    std::unique_ptr<core> core_;
};

/// Of a context, its own executor.
template <std::derived_from<net::execution_context> Context>
explicit task_executor(Context&) -> task_executor<typename Context::executor_type>;

TRYST_ASIO_END
