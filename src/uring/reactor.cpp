// SPDX-License-Identifier: MIT
#include "reactor.hpp"

#include "failure.hpp"
#include "trace.hpp"

#include <cassert>
#include <cerrno>
#include <system_error>

namespace tryst::uring::detail {

thread_local reactor* running_reactor = nullptr;

namespace {

/// The maximum number of cancellations that `quiesce` submits at once. The kernel removes cancelled
/// operations in task work, of which one system call runs 20 items. Until then they lengthen the
/// search for the next operation (docs/adr/0006-run-cancels-operations-in-flight.md).
constexpr unsigned cancel_batch = 16;

/// A number for the calling thread that no other thread of the process ever gets. Never 0.
/// `std::thread::id` would not do: a later thread may get the same id.
std::uint64_t this_thread() noexcept {
    static tryst::detail::atomic<std::uint64_t> last{0};
    // Relaxed: the numbers only have to differ.
    thread_local const std::uint64_t number = last.fetch_add(1, std::memory_order_relaxed) + 1;
    return number;
}

} // namespace

// ---- Set-up and end.

reactor::reactor(context& loop, tryst::detail::serial_queue& ready,
                 tryst::detail::timer_heap& timers, const context_options& options)
    : loop_(loop), ready_(ready), timers_(timers),
      max_workers_{options.max_bounded_workers, options.max_unbounded_workers},
      ring_(options.entries), submissions_(ring_), buffers_(ring_), wakeup_(ring_) {}

reactor::~reactor() {
    assert(submissions_.empty() &&
           "tryst: an operation outlives its context; destroy the operation first");
}

void reactor::claim_thread() {
    ring_.expect_parent();
    std::uint64_t owner = 0;
    // Relaxed: only the number matters; the context itself was handed over by its user.
    // Failure relaxed: as on success.
    if (owner_.compare_exchange_strong(owner, this_thread(), std::memory_order_relaxed,
                                       std::memory_order_relaxed)) {
        try {
            ring_.enable(max_workers_);
        } catch (...) {
            // Relaxed: only the number matters.
            owner_.store(0, std::memory_order_relaxed);
            throw;
        }
    } else if (owner != this_thread()) {
        throw failure(EEXIST,
                      "io_uring_enter: a context can be run only by the thread that ran it first");
    }
}

/// Whether the calling thread runs the context.
bool reactor::is_owner() const noexcept {
    // Relaxed: only the owner itself can find its own number here.
    return owner_.load(std::memory_order_relaxed) == this_thread();
}

void reactor::quiesce() noexcept {
    ring_.expect_parent();
    submissions_.cancel_all();
    if (wakeup_.is_owed()) {
        TRYST_TRACE(owed_quiesce);
    }
    while (submissions_.has_any_in_kernel() || wakeup_.is_owed()) { // I36, I32
        submissions_.flush_cancels(cancel_batch);
        if (wakeup_.watch() && !submissions_.has_cancels()) {
            wait(nullptr);
        } else {
            run_all_tasks();
        }
    }
    do { // I34: the kernel refuses a message at once, or not at all
        ring_.submit_and_run_tasks();
        complete_all();
    } while (ring_.has_unsubmitted());
}

/// Submits, and runs all task work: each system call runs only a part of it.
void reactor::run_all_tasks() noexcept {
    ring_.submit_and_run_tasks();
    while (ring_.has_completions() && ring_.has_task_work()) {
        complete_all();
        ring_.run_tasks();
    }
    complete_all();
}

// ---- Wake-ups and sleep.

void reactor::deliver(executor_node* node) noexcept {
    ring_.expect_parent(); // a child would wake the parent, but not deliver the node to it
    if (const auto sleeper = wakeup_.post(node)) {
        wake(*sleeper);
    }
}

void reactor::wake(const wakeup::sleeper& other) noexcept {
    reactor* const here = running_reactor;
    if (here != nullptr && !here->is_in_child() && here->wakeup_.send_message(other)) {
        here->complete_all(); // the message may have been refused
    } else {
        TRYST_TRACE(wake_by_eventfd, other.eventfd);
        wakeup::write_eventfd(other.eventfd);
    }
}

void reactor::sleep(const context::time_point* deadline) noexcept {
    // The last completions may have queued something. If it cannot be submitted, the kernel is
    // short of memory; then the loop tries again.
    submissions_.flush();
    if (!wakeup_.watch() || submissions_.has_backlog()) {
        return;
    }
    if (wakeup_.prepare_sleep()) {
        wait(deadline);
        wakeup_.finish_sleep();
    }
}

bool reactor::has_events() const noexcept {
    return wakeup_.has_mail() || ring_.has_completions() ||
           (!is_flag_stale_ && ring_.has_task_work());
}

void reactor::fetch_events() noexcept {
    ring_.expect_parent();
    submissions_.flush();
    is_flag_stale_ = false;
    if (ring_.has_unsubmitted()) {
        ring_.submit_and_run_tasks();
    } else if (ring_.has_task_work()) {
        ring_.run_tasks();
        // The kernel queues task work before it sets the flag. If the work is run in between, the
        // flag stays set until there is more work. A loop that trusted the flag would never sleep.
        is_flag_stale_ = !ring_.has_completions() && ring_.has_task_work();
    }
    complete_all();
}

void reactor::wait(const context::time_point* deadline) noexcept {
    ring_.wait(deadline);
    complete_all();
}

result<void> reactor::register_buffers(const buffer_pool& pool) noexcept {
    return result<void>("register_buffers", {buffers_.add(pool), std::system_category()});
}

result<void> reactor::unregister_buffers(const buffer_pool& pool) noexcept {
    const int entry = buffers_.find(&pool);
    const int error = entry < 0                         ? ENOENT
                      : submissions_.uses_buffer(entry) ? EBUSY
                                                        : buffers_.remove(entry);
    return result<void>("unregister_buffers", {error, std::system_category()});
}

} // namespace tryst::uring::detail
