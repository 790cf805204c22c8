// SPDX-License-Identifier: MIT
/// @file
/// An Asio executor as an executor of tryst.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/queue_entry.hpp>
#include <tryst/asio/detail/registry.hpp>
#include <tryst/asio/detail/work_queue.hpp>
#include <tryst/detail/run/turn_executor.hpp>
#include <tryst/executor.hpp>

#include <optional>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/* The serial executor
 * A turn is the entry of the executor as a `registered_executor`.
 *
 * I17. A serial executor has at most one turn, queued or running. It is queued by `begin`, then by
 *     the running turn, or by the only poster to which `inbox::post` returns true. So nodes run one
 *     at a time on any Asio executor, as in a strand.
 * I18. The serial executor is in the registry of its context from `enter` on. While it is asleep,
 *     its inbox is prepared for a wait, so the next poster learns that it must wake the executor.
 * I19. Only its turn uses the members of a serial executor, except the inbox. Exceptions are the
 *     one poster that queues a turn (I17) and, while the executor is asleep, `leave`.
 * I20. If the context destroys the turn, or ends while the serial executor is asleep, `on_shutdown`
 *     destroys all suspended work.
 *
 * @tparam Queue  the queue of the Asio executor, a `work_queue`.
 * @tparam Temporary  whether the executor serves one operation only. */
template <class Queue, bool Temporary>
class serial_executor
    : public registered_executor,
      public tryst::detail::turn_executor<serial_executor<Queue, Temporary>, Temporary> {
    using base = tryst::detail::turn_executor<serial_executor, Temporary>;

public:
    // Required by `turn_executor` and `queue_entry`. Public, because g++ warns of friends of a
    // class with virtual functions.
    static constexpr bool continues = true;
    bool run_entry() noexcept {
        base::wake_up();
        return base::run_nodes();
    }
    bool is_finished() const noexcept { return finished_; }
    void wake() noexcept { home()->wake(*this); }
    void enqueue() noexcept final { queue_entry<serial_executor>::push(*this, *turns_); }
    void run() final { queue_entry<serial_executor>::run(*this); }
    void queue_turn() noexcept { enqueue(); }
    void await_waker() noexcept final {
        if (!base::stay_awake()) {
            tryst::detail::yield_until([this] { return entry_state() != entry::none; });
        }
    }

    /// Called after the last turn; ends the executor's lifetime.
    virtual void complete() = 0;

    /// If the context has ended, queues a turn, which the context then destroys.
    bool fall_asleep() noexcept {
        if (!is_registered) {
            before_sleep();
            queue_turn();
            return true;
        }
        return base::fall_asleep();
    }

    /// Called before the executor falls asleep.
    virtual void before_sleep() noexcept {}

    static timer_node::time_point now() noexcept { return tryst::detail::clock::now(); }
    void arm(timer_node* node) noexcept { home()->timers().arm(node); }
    void disarm(timer_node* node) noexcept { home()->timers().disarm(node, *turns_); }

protected:
    explicit serial_executor(Queue&& queue) : turns_(std::move(queue)) {}
    ~serial_executor() = default;

    /// The registry to `enter`. @throws std::bad_alloc.
    registry& find_registry() const { return turns_->find_registry(); }

    /// Enters the registry, before anything runs on the executor.
    void enter(registry& found) noexcept {
        this->is_direct = turns_->is_direct();
        static_cast<void>(found.add(*this));
    }

    /// Makes the running or queued turn the last; `complete` is called after it.
    void finish() noexcept { finished_ = true; }

    /// Starts the executor, for which no node is ready.
    void begin() noexcept {
        if (!fall_asleep()) {
            queue_turn();
        }
    }

    std::optional<Queue> turns_; ///< Empty after the context has ended.

private:
    bool finished_ = false;
};

} // namespace detail
TRYST_ASIO_END
