// SPDX-License-Identifier: MIT
/// @file
/// The executor of one exchange that waits on an Asio executor.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/queue_entry.hpp>
#include <tryst/asio/detail/registry.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/executor.hpp>

#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/* The executor of one exchange
 * The exchange posts its node here, and nothing else. The node goes straight into the queue of the
 * Asio executor, as the entry of a `registered_executor`.
 *
 *   unregistered --start--> waiting        the offer is made
 *   unregistered ---------> queued         the exchange is complete without an offer
 *   unregistered ---------> disposed       the context had ended
 *   waiting      --post---> queued         by a completer, a canceller, or the exchange's own check
 *   queued       --run----> waiting        the node was the check, and the exchange is pending
 *   queued       --run----> completed      the exchange is complete: `Derived::complete`
 *   waiting      ---------> disposed       the context ended
 *   queued       ---------> disposed       the context destroyed the entry
 *
 * I39. An exchange in Asio has at most one entry in its context's queue, because the exchange posts
 *     its node again only after its run.
 * I40. The members other than the base class have one user at a time: the initiating function, then
 *     the waker that queues the entry (I39), then the entry. If the context ends first, the last
 *     user is its shutdown. A cancellation or a timer uses only the core operation.
 *
 * @tparam Derived  has
 *   - `core()`, the core operation;
 *   - `queue()`, the queue of the Asio executor, a `work_queue`;
 *   - `complete()`, which takes the result, ends the executor's lifetime, and calls the handler;
 *   - `on_shutdown()`, which abandons the exchange and destroys the handler.
 * @tparam Continues  whether the handler goes on until it waits (`registry::continues`). */
template <class Derived, bool Continues>
class exchange_executor : public registered_executor {
public:
    // Required by `queue_entry`.
    static constexpr bool continues = Continues;
    bool run_entry() noexcept {
        const registry::step own(*this);
        return completed_ || derived().core().run_node();
    }
    void complete() { derived().complete(); }

    /// Required by `registry::wake`.
    void enqueue() noexcept final {
        queue_entry<exchange_executor>::push(*this, derived().queue());
    }
    void run() final { queue_entry<exchange_executor>::run(*this); }

protected:
    exchange_executor() = default;
    ~exchange_executor() = default;

    /// Makes the offer. If the exchange completes without waiting, queues the completion. If the
    /// context has ended, calls `on_shutdown`. The caller must not use the executor afterwards.
    /// @param slot  cancels the exchange, if it is connected. `Derived::complete` must clear it, or
    ///   call a handler that does.
    /// @throws std::bad_alloc. Then nothing was offered.
    [[gnu::noinline]] void start(net::cancellation_slot slot) {
        registry& found = derived().queue().find_registry();
        const bool cancellable = slot.is_connected();
        if (cancellable) {
            slot.assign([this](net::cancellation_type_t type) {
                if (type != net::cancellation_type_t::none) {
                    derived().core().request_cancel();
                }
            });
        }
        if (!found.add(*this)) {
            on_shutdown();
            return;
        }
        if constexpr (std::remove_reference_t<decltype(derived().core())>::needs_timers) {
            has_timers_ = found.timers().prepare();
        }
        this->is_direct = derived().queue().is_direct();
        const registry::step own(*this);
        if (!derived().core().template start<nullptr>(ref(), nullptr, cancellable)) {
            unregister();
            queue_completion();
        }
    }

    /// Queues the call of `complete`. Precondition: the exchange is complete.
    void queue_completion() noexcept {
        // Detaches the stop and the timer now. Later the handler's move may throw, or the context
        // may end, before the result is taken.
        derived().core().finish();
        completed_ = true;
        enqueue();
    }

private:
    Derived& derived() noexcept { return static_cast<Derived&>(*this); }

    executor_ref ref() noexcept { return {this, &vtable}; }

    static exchange_executor& self(void* context) noexcept {
        return *static_cast<exchange_executor*>(context);
    }

    bool completed_ = false;
    bool has_timers_ = false; ///< If not, the timer thread serves the deadline.

    static constexpr executor_vtable vtable{
        .post =
            [](void* context, executor_node*) noexcept {
                exchange_executor& owner = self(context);
                owner.home()->wake(owner);
            },
        .temporary = true,
        // Only the exchange asks, whether it can use the timers.
        .running_here =
            [](const void* context) noexcept {
                return static_cast<const exchange_executor*>(context)->has_timers_;
            },
        .retract =
            [](void* context, executor_node*) noexcept {
                return self(context).entry_state() == entry::stranded;
            },
        .now = [](const void*) noexcept { return tryst::detail::clock::now(); },
        .arm = [](void* context,
                  timer_node* node) noexcept { self(context).home()->timers().arm(node); },
        .disarm =
            [](void* context, timer_node* node) noexcept {
                exchange_executor& owner = self(context);
                owner.home()->timers().disarm(node, owner.derived().queue());
            },
    };
};

} // namespace detail
TRYST_ASIO_END
