// SPDX-License-Identifier: MIT
/// @file
/// The executor of one exchange that waits on an Asio executor.
/// Asio.
#pragma once

#include <tryst/asio/detail/handler_memory.hpp>
#include <tryst/asio/detail/net.hpp>
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
 * I39. At most one entry exists, because the exchange posts its node again only after its run.
 * I40. The members other than the base class have one user at a time: the initiating function, then
 *     the waker that queues the entry (I39), then the entry. If the context ends first, the last
 *     user is its shutdown. A cancellation or a timer uses only the core operation.
 *
 * @tparam Derived  has
 *   - `core()`, the core operation;
 *   - `continues`, whether its handler goes on until it waits (`registry::continues`);
 *   - `queue()`, the queue of the Asio executor, a `work_queue`;
 *   - `complete()`, which takes the result, ends the executor's lifetime, and calls the handler;
 *   - `dispose()`, which abandons the exchange and destroys the handler. */
template <class Derived>
class exchange_executor : private registered_executor {
protected:
    exchange_executor() = default;
    ~exchange_executor() = default;

    /// Makes the offer. If the exchange completes without waiting, queues the completion. If the
    /// context has ended, calls `dispose`. The caller must not use the executor afterwards.
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
            derived().dispose();
            return;
        }
        registered_ = true;
        if constexpr (std::remove_reference_t<decltype(derived().core())>::is_timed) {
            has_timers_ = found.timers().prepare();
        }
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
        set_entry(entry::queued);
        push_entry();
    }

    /// Leaves the registry. Precondition: no waker will come.
    void unregister() noexcept {
        if (std::exchange(registered_, false)) {
            registry::remove(*this);
        }
    }

private:
    /// The entry in the Asio executor's queue, which the context runs or destroys.
    class queue_entry {
    public:
        using allocator_type = handler_allocator<void>;

        explicit queue_entry(exchange_executor& owner) noexcept : owner_(&owner) {}
        queue_entry(queue_entry&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
        queue_entry& operator=(queue_entry&&) = delete;
        ~queue_entry() {
            if (owner_ != nullptr) {
                owner_->set_entry(entry::stranded);
                owner_->unregister();
                owner_->derived().dispose();
            }
        }

        void operator()() { std::exchange(owner_, nullptr)->run(); }

        allocator_type get_allocator() const noexcept { return allocator_type(owner_->memory_); }

    private:
        exchange_executor* owner_;
    };

    Derived& derived() noexcept { return static_cast<Derived&>(*this); }

    executor_ref ref() noexcept { return {this, &vtable}; }

    void push_entry() { derived().queue().push(queue_entry(*this), registry::continues()); }

    void run() {
        const registry::scope here(list == nullptr ? nullptr : list->owner, Derived::continues);
        set_entry(entry::none);
        if (completed_ || derived().core().run_node()) {
            unregister();
            derived().complete();
        }
    }

    void context_ends() noexcept final {
        registered_ = false;
        if (entry_state() != entry::queued) { // else the context will destroy the entry
            derived().dispose();
        }
    }

    static exchange_executor& self(void* context) noexcept {
        return *static_cast<exchange_executor*>(context);
    }

    [[no_unique_address]] handler_memory memory_;
    bool registered_ = false;
    bool completed_ = false;
    bool has_timers_ = false; ///< If not, the timer thread serves the deadline.

    static constexpr executor_vtable vtable{
        .post =
            [](void* context, executor_node*) noexcept {
                exchange_executor& owner = self(context);
                owner.list->owner->wake(owner, [&owner] { owner.push_entry(); });
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
                  timer_node* node) noexcept { self(context).list->owner->timers().arm(node); },
        .disarm =
            [](void* context, timer_node* node) noexcept {
                exchange_executor& owner = self(context);
                owner.list->owner->timers().disarm(node, owner.derived().queue());
            },
    };
};

} // namespace detail
TRYST_ASIO_END
