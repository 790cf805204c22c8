// SPDX-License-Identifier: MIT
/// @file
/// An Asio executor as an executor of tryst.
/// Asio.
#pragma once

#include <tryst/asio/detail/handler_memory.hpp>
#include <tryst/asio/detail/net.hpp>
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
 * I17. At most one turn exists. A turn is queued by `begin`, then by the running turn, or by the
 *     only poster to which `inbox::post` returns true. So nodes run one at a time on any Asio
 *     executor, as in a strand.
 * I18. The executor is in the registry of its context from `enter_registry` on. While it is asleep,
 *     its inbox is prepared for a wait, so the next poster learns that it must wake the executor.
 * I19. Only the turn uses the members other than the inbox. Exceptions are the one poster that
 *     queues a turn (I17) and, while the executor is asleep, `context_ends` and the owner's
 *     `leave`.
 * I20. If the context destroys the turn, or ends while the executor is asleep, `on_shutdown`
 *     destroys all suspended work.
 *
 * @tparam Queue  the queue of the Asio executor, a `work_queue`.
 * @tparam Temporary  whether the executor serves one operation only. */
template <class Queue, bool Temporary>
class serial_executor
    : private registered_executor,
      public tryst::detail::turn_executor<serial_executor<Queue, Temporary>, Temporary> {
    using base = tryst::detail::turn_executor<serial_executor, Temporary>;

public:
    // Required by `turn_executor`. Public, because g++ warns of friends of a class with virtual
    // functions.
    bool is_finished() const noexcept { return finished_; }
    void wake() noexcept {
        registry_->wake(*this, [this] { push_turn(); });
    }
    void queue_turn() noexcept {
        set_entry(entry::queued);
        push_turn();
    }

    /// If the context has ended, queues a turn, which the context then destroys.
    bool fall_asleep() noexcept {
        if (!registered_) {
            before_sleep();
            queue_turn();
            return true;
        }
        return base::fall_asleep();
    }

    /// Called before the executor falls asleep.
    virtual void before_sleep() noexcept {}

    static timer_node::time_point now() noexcept { return tryst::detail::clock::now(); }
    void arm(timer_node* node) noexcept { registry_->timers().arm(node); }
    void disarm(timer_node* node) noexcept { registry_->timers().disarm(node, *turns_); }

protected:
    explicit serial_executor(Queue&& queue) : turns_(std::move(queue)) {}
    ~serial_executor() = default;

    /// Called after the last turn; ends the executor's lifetime.
    virtual void complete() {}

    /// Called when no turn will run any more. Destroys suspended work (I20), and may end the
    /// executor's lifetime.
    virtual void on_shutdown() noexcept = 0;

    /// Enters the registry, before anything runs on the executor. @throws std::bad_alloc.
    void enter_registry() {
        registry_ = &turns_->find_registry();
        registered_ = registry_->add(*this);
    }

    /// Makes the running or queued turn the last; `complete` is called after it.
    void finish() noexcept { finished_ = true; }

    /// Starts the executor: queues a turn if nodes are ready, and falls asleep otherwise.
    void begin() noexcept {
        if (!this->queue().empty() || !fall_asleep()) {
            queue_turn();
        }
    }

    /// Leaves the registry, so that no waker will come. Precondition: no turn is running.
    /// @returns true if nothing refers to this executor any more, false if a queued turn does.
    bool leave() noexcept {
        if (!base::stay_awake()) {
            tryst::detail::yield_until([this] { return entry_state() != entry::none; });
        }
        unregister();
        return entry_state() != entry::queued;
    }

    std::optional<Queue> turns_; ///< Empty after the context has ended.

private:
    /// The entry in the Asio executor's queue, which the context runs or destroys.
    class turn {
    public:
        using allocator_type = handler_allocator<void>;

        explicit turn(serial_executor& owner) noexcept : owner_(&owner) {}
        turn(turn&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
        turn& operator=(turn&&) = delete;
        ~turn() {
            if (owner_ != nullptr) {
                owner_->set_entry(entry::stranded);
                owner_->unregister(); // the queue may end before the registry
                owner_->on_shutdown();
            }
        }

        void operator()() { std::exchange(owner_, nullptr)->run_turn(); }

        allocator_type get_allocator() const noexcept { return allocator_type(owner_->memory_); }

    private:
        serial_executor* owner_;
    };

    void push_turn() { turns_->push(turn(*this), registry::continues()); }

    void run_turn() {
        const registry::scope in_context(registry_, true);
        set_entry(entry::none);
        base::wake_up();
        if (base::run_nodes()) {
            unregister();
            complete();
        }
    }

    void unregister() noexcept {
        if (std::exchange(registered_, false)) {
            registry::remove(*this);
        }
    }

    void context_ends() noexcept final {
        registered_ = false;
        if (leave()) {
            on_shutdown();
        }
    }

    registry* registry_ = nullptr;
    handler_memory memory_;
    bool registered_ = false;
    bool finished_ = false;
};

} // namespace detail
TRYST_ASIO_END
