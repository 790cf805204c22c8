// SPDX-License-Identifier: MIT
/// @file
/// What an executor of tryst queues in a context.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/registered_executor.hpp>
#include <tryst/asio/detail/registry.hpp>

#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/// The entry of an executor in its Asio executor's queue, which the context runs or destroys.
/// @tparam Executor  a `registered_executor`. It has
///   - `continues`, whether what the entry runs goes on until it waits (`registry::continues`);
///   - `run_entry()`, which returns whether the executor has finished. If not, it must not be used
///     any more;
///   - `complete()`, which is then called, and ends the executor's lifetime.
template <class Executor>
class queue_entry {
public:
    using allocator_type = handler_allocator<void>;

    /// Queues the entry of `executor`. The caller must not use the executor afterwards, because the
    /// entry may run, or be destroyed, at once.
    template <class Queue>
    static void push(Executor& executor, Queue&& queue) noexcept {
        executor.set_entry(registered_executor::entry::queued);
        queue.push(queue_entry(executor), registry::continues());
    }

    queue_entry(queue_entry&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
    queue_entry& operator=(queue_entry&&) = delete;
    ~queue_entry() {
        if (owner_ != nullptr) {
            owner_->set_entry(registered_executor::entry::stranded);
            owner_->unregister(); // the queue may end before the registry
            owner_->on_shutdown();
        }
    }

    void operator()() {
        Executor& owner = *std::exchange(owner_, nullptr);
        registry::scope in_context(owner.home(), owner.is_direct);
        run(owner);
        in_context.run_ready();
    }

    /// Does what the entry does, on a thread that is in the context.
    static void run(Executor& owner) {
        registry::set_continues(Executor::continues);
        owner.set_entry(registered_executor::entry::none);
        if (owner.run_entry()) {
            owner.unregister();
            owner.complete();
        }
    }

    allocator_type get_allocator() const noexcept { return allocator_type(owner_->memory); }

private:
    explicit queue_entry(Executor& owner) noexcept : owner_(&owner) {}

    Executor* owner_;
};

} // namespace detail
TRYST_ASIO_END
