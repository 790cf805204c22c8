// SPDX-License-Identifier: MIT
/// @file
/// An Asio executor as an executor of tryst.
/// Asio.
#pragma once

#include <tryst/asio/detail/handler_memory.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/registry.hpp>
#include <tryst/asio/detail/work_queue.hpp>
#include <tryst/detail/run/inbox.hpp>
#include <tryst/detail/run/serial_queue.hpp>
#include <tryst/executor.hpp>

#include <cstddef>
#include <optional>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/* The serial executor
 *   asleep  --post-->    queued     the posting thread puts a turn into the Asio executor's queue
 *   queued  --run_turn-> running    the Asio executor runs the turn
 *   running -----------> queued     a turn ran its share; the context runs other work first
 *   running -----------> asleep     nothing is ready
 *   running -----------> finished   `finish` was called
 *
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
class serial_executor : private registered_executor {
public:
    executor_ref ref() const noexcept { return {const_cast<serial_executor*>(this), &vtable}; }

    bool running_here() const noexcept { return current_executor() == ref(); }

    void post(executor_node* node) noexcept {
        if (running_here()) {
            queue_.push(node);
        } else if (inbox_.post(node)) {
            registry_->wake(*this, [this] { push_turn(); });
        }
    }

protected:
    explicit serial_executor(Queue&& queue) : turns_(std::move(queue)) {}
    ~serial_executor() = default;

    /// Called after the last turn; ends the executor's lifetime.
    virtual void complete() {}

    /// Called when no turn will run any more. Destroys suspended work (I20), and may end the
    /// executor's lifetime.
    virtual void on_shutdown() noexcept = 0;

    /// Called before the executor falls asleep.
    virtual void before_sleep() noexcept {}

    /// Enters the registry, before anything runs on the executor. @throws std::bad_alloc.
    void enter_registry() {
        registry_ = &turns_->find_registry();
        registered_ = registry_->add(*this);
    }

    /// Makes the running or queued turn the last; `complete` is called after it.
    void finish() noexcept { finished_ = true; }

    /// Starts the executor: queues a turn if nodes are ready, and falls asleep otherwise.
    void begin() noexcept {
        if (!queue_.empty() || !fall_asleep()) {
            queue_turn();
        }
    }

    /// Leaves the registry, so that no waker will come. Precondition: no turn is running.
    /// @returns true if nothing refers to this executor any more, false if a queued turn does.
    bool leave() noexcept {
        if (asleep_ && !inbox_.cancel_wait()) {
            tryst::detail::yield_until([this] { return entry_state() != entry::none; });
        }
        asleep_ = false;
        unregister();
        return entry_state() != entry::queued;
    }

    /// Destroys suspended work. Precondition: no turn will be queued any more.
    template <class Destroy>
    void dispose(Destroy destroy) noexcept {
        const executor_scope here(ref());
        queue_.append(inbox_.take());
        queue_.dispose();
        destroy();
    }

    tryst::detail::serial_queue queue_;
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

    void queue_turn() noexcept {
        set_entry(entry::queued);
        push_turn();
    }

    void run_turn() {
        const registry::scope in_context(registry_, true);
        set_entry(entry::none);
        asleep_ = false;
        if (run_nodes()) {
            unregister();
            complete();
        }
    }

    void unregister() noexcept {
        if (std::exchange(registered_, false)) {
            registry::remove(*this);
        }
    }

    /// @returns whether the executor has finished. If not, the caller must not use it any more.
    bool run_nodes() noexcept {
        const executor_scope here(ref());
        std::size_t left = turn_length;
        while (!finished_) {
            queue_.append(inbox_.take());
            if (queue_.empty()) {
                if (fall_asleep()) {
                    return false;
                }
            } else if (left == 0) {
                queue_turn();
                return false;
            } else {
                left -= queue_.run_some(left, [this] { return finished_; });
            }
        }
        return true;
    }

    /// Falls asleep, or queues a turn if the context has ended, which then destroys the turn.
    /// @returns false if there is mail in the inbox. If true, the caller must not use the executor
    ///   any more.
    bool fall_asleep() noexcept {
        before_sleep();
        if (!registered_) {
            queue_turn();
            return true;
        }
        asleep_ = true;
        if (inbox_.prepare_wait()) {
            return true;
        }
        asleep_ = false;
        return false;
    }

    void context_ends() noexcept final {
        registered_ = false;
        if (leave()) {
            on_shutdown();
        }
    }

    bool retract(executor_node* node) noexcept {
        queue_.append(inbox_.take());
        return queue_.retract(node);
    }

    static serial_executor& self(void* context) noexcept {
        return *static_cast<serial_executor*>(context);
    }

    static constexpr executor_vtable vtable{
        .post = [](void* context, executor_node* node) noexcept { self(context).post(node); },
        .serial = true,
        .temporary = Temporary,
        .running_here =
            [](const void* context) noexcept {
                return static_cast<const serial_executor*>(context)->running_here();
            },
        .retract = [](void* context,
                      executor_node* node) noexcept { return self(context).retract(node); },
        .now = [](const void*) noexcept { return tryst::detail::clock::now(); },
        .arm = [](void* context,
                  timer_node* node) noexcept { self(context).registry_->timers().arm(node); },
        .disarm =
            [](void* context, timer_node* node) noexcept {
                self(context).registry_->timers().disarm(node, *self(context).turns_);
            },
    };

    // As `event_loop::turns_between_polls`, for the same reason.
    static constexpr std::size_t turn_length = 64;

    registry* registry_ = nullptr;
    tryst::detail::inbox inbox_;
    handler_memory memory_;
    bool registered_ = false;
    bool asleep_ = false;
    bool finished_ = false;
};

} // namespace detail
TRYST_ASIO_END
