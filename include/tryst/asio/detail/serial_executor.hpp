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
 *   asleep  --post-->    queued     by whoever posts: a turn goes into the Asio executor's queue
 *   queued  --run_turn-> running    when that executor gets to it
 *   running -----------> queued     there is more than one turn may run: the context's other work is next
 *   running -----------> asleep     nothing is ready
 *   running -----------> finished   what it ran for is done
 *
 * There is at most one turn, so nodes run one at a time whatever the Asio executor is: this is a strand of
 * its own. Asleep it is in the registry of its context, and in its inbox the next poster finds out that it
 * must queue the turn. Nobody else touches it: if the context destroys the turn, or itself, what waits here
 * is lost. */
/// @tparam Queue  the Asio executor's: a `work_queue`.
/// @tparam Temporary  whether it is for one operation only.
template <class Queue, bool Temporary>
class serial_executor : private suspended_operation {
public:
    executor_ref ref() const noexcept { return {const_cast<serial_executor*>(this), &vtable}; }

    bool running_here() const noexcept { return current_executor() == ref(); }

    void post(executor_node* node) noexcept {
        if (running_here()) {
            queue_.push(node);
        } else if (inbox_.post(node)) {
            registry_->wake(*this, [this] { queue_turn(); });
        }
    }

protected:
    explicit serial_executor(Queue&& queue) : turns_(std::move(queue)) {}
    ~serial_executor() = default;

    /// What to do when it has finished; ends its life.
    virtual void complete() {}

    /// No turn will come any more: the place to destroy what waits. Ends its life.
    virtual void on_shutdown() noexcept = 0;

    /// It is about to sleep.
    virtual void before_sleep() noexcept {}

    /// Must be called before it can sleep. @throws std::bad_alloc.
    void sleep_in_context() { registry_ = &turns_->context(); }

    /// After this turn `complete` is called.
    void finish() noexcept { finished_ = true; }

    /// Goes on after its first nodes were run outside of a turn: finished, queued or asleep.
    void begin() noexcept {
        if (finished_) {
            // As the continuation of whoever is running: it needs no lock, nor another thread.
            queued_ = true;
            turns_->defer(turn(*this));
        } else if (!queue_.empty() || !fall_asleep()) {
            queue_turn();
        }
    }

    /// Makes a suspended_operation one that nobody will wake.
    /// @returns whether nobody else refers to it; else a turn does. Precondition: not running.
    bool leave() noexcept {
        if (asleep_) {
            if (!inbox_.cancel_wait()) {
                registry_->await_waker(*this);
            }
            registry_->remove(*this);
        }
        asleep_ = false;
        return !queued_;
    }

    /// Destroys what waits here; no turn will be queued any more.
    template <class Destroy>
    void dispose(Destroy destroy) noexcept {
        const executor_scope here(ref());
        queue_.append(inbox_.take());
        queue_.dispose();
        destroy();
    }

    tryst::detail::serial_queue queue_;
    std::optional<Queue> turns_; ///< Empty once lost.

private:
    /// The entry in the Asio executor's queue: to be run, or destroyed.
    class turn {
    public:
        using allocator_type = handler_allocator<void>;

        explicit turn(serial_executor& owner) noexcept : owner_(&owner), memory_(owner.memory_) {}
        turn(turn&& other) noexcept
            : owner_(std::exchange(other.owner_, nullptr)), memory_(other.memory_) {}
        turn& operator=(turn&&) = delete;
        ~turn() {
            if (owner_ != nullptr) {
                owner_->queued_ = false;
                owner_->on_shutdown();
            }
        }

        void operator()() { std::exchange(owner_, nullptr)->run_turn(); }

        allocator_type get_allocator() const noexcept { return memory_; }

    private:
        serial_executor* owner_;
        allocator_type memory_;
    };

    void queue_turn() noexcept {
        queued_ = true;
        turns_->post(turn(*this));
    }

    void run_turn() {
        queued_ = false;
        asleep_ = false;
        if (run_nodes()) {
            complete();
        }
    }

    /// @returns whether it has finished; if not, it must not be touched any more.
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

    /// @returns whether it sleeps, and must not be touched any more; else there is mail.
    bool fall_asleep() noexcept {
        before_sleep();
        asleep_ = true;
        if (!registry_->add(*this)) {
            asleep_ = false;
            queue_turn(); // which the context, being destroyed, will destroy
            return true;
        }
        if (inbox_.prepare_wait()) {
            return true;
        }
        registry_->remove(*this);
        asleep_ = false;
        return false;
    }

    void context_ends() noexcept final {
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

    // clang-format off
    static constexpr executor_vtable vtable{
        .post         = [](void* context, executor_node* node) noexcept { self(context).post(node); },
        .serial       = true,
        .temporary    = Temporary,
        .running_here = [](const void* context) noexcept {
            return static_cast<const serial_executor*>(context)->running_here();
        },
        .retract      = [](void* context, executor_node* node) noexcept { return self(context).retract(node); },
    };
    // clang-format on

    // As many as a run_loop runs between two looks at its timers, for the same reason.
    static constexpr std::size_t turn_length = 64;

    registry* registry_ = nullptr;
    tryst::detail::inbox inbox_;
    handler_memory memory_;
    bool asleep_ = false;
    bool queued_ = false;
    bool finished_ = false;
};

} // namespace detail
TRYST_ASIO_END
