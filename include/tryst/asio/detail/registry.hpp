// SPDX-License-Identifier: MIT
/// @file
/// The operations that are suspended in an execution context, and that end with the context.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#include <tryst/detail/platform/atomic.hpp>

#include <cstdint>
#include <mutex>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/// An operation that is in no queue of its context until a waker queues it.
class suspended_operation {
public:
    suspended_operation(const suspended_operation&) = delete;
    suspended_operation& operator=(const suspended_operation&) = delete;

    /// Called when the context is being destroyed. No work can be queued in it any more, but a
    /// waker may still be about to call `registry::wake`.
    virtual void context_ends() noexcept = 0;

    suspended_operation* previous = nullptr; ///< For the registry only, like the next two members.
    suspended_operation* next = nullptr;
    bool woken = false;

protected:
    suspended_operation() = default;
    ~suspended_operation() = default;
};

/* The registry of an execution context
 *
 * I21. A suspended operation is in the list from `add` until `wake`, `remove` or `shutdown` unlinks
 *     it.
 * I22. After `shutdown` has set `ended_`, no waker queues work in the context: `wake` queues under
 *     `mutex_`, and only if `ended_` is false.
 * I23. A thread that has seen `woken` in `await_waker` may destroy the operation: `wake` sets
 *     `woken` and makes its last access under one hold of `mutex_`.
 * I24. After `shutdown` has set `open_` to false, `post_unless_ended` does not call `post`: both
 *     hold `gate_`.
 * I25. The registry is shut down before the strands of its context.
 *      1. Asio shuts services down in the reverse order of their construction.
 *      2. The registry's constructor creates the service of the strands first.
 *      3. Otherwise a waker could queue work in a strand that is being shut down. The strand would
 *         lose that work, and the lost handler would keep the strand alive forever.
 *
 * `gate_` is separate from `mutex_`, because a handler that is destroyed under `mutex_` may wait
 * for a thread in `post_unless_ended` (see `stop_bound_handler`). One mutex for both would
 * deadlock. */
class registry final : public net::execution_context::service {
public:
    inline static net::execution_context::id id;

    /// Makes the service of the strands first, unless it exists (I25).
    explicit registry(net::execution_context& context) : net::execution_context::service(context) {
        const net::strand<anywhere> made(anywhere{&context});
    }

    /// Calls `shutdown`, because Asio does not call it if the registry was created during the
    /// context's shutdown.
    ~registry() override {
        shutdown();
        // Relaxed: a thread that uses a later context at the same address must synchronize with the
        // end of this one anyway.
        ended_contexts.fetch_add(1, std::memory_order_relaxed);
    }

    /// The registry of the context of `executor`, or that of the system context if it has none.
    template <class Executor>
    static registry& of(const Executor& executor) {
        if constexpr (requires { net::query(executor, as_context); }) {
            return of_context(net::query(executor, as_context));
        } else if constexpr (requires { net::query(executor, net::execution::context); }) {
            return of_context(net::query(executor, net::execution::context));
        } else if constexpr (requires { executor.context(); }) {
            return of_context(executor.context());
        } else {
            return of_context(net::query(net::system_executor(), net::execution::context));
        }
    }

    /// @returns false if the context has ended.
    [[nodiscard]] bool add(suspended_operation& added) noexcept {
        const std::scoped_lock lock(mutex_);
        if (ended_) {
            return false;
        }
        added.woken = false;
        added.next = std::exchange(first_, &added);
        if (added.next != nullptr) {
            added.next->previous = &added;
        }
        return true;
    }

    void remove(suspended_operation& removed) noexcept {
        const std::scoped_lock lock(mutex_);
        unlink(removed);
    }

    /// Removes an operation and calls `queue`, which queues its work (I22). If the context has
    /// ended, the operation stays for `shutdown` to find. The caller must not use the operation
    /// afterwards.
    template <class Queue>
    void wake(suspended_operation& operation, Queue queue) noexcept {
        const std::scoped_lock lock(mutex_);
        operation.woken = true;
        if (!ended_) {
            unlink(operation);
            queue(); // last: the work may run, or be destroyed, at once
        }
    }

    /// Waits until the waker has left `wake` (I23).
    void await_waker(const suspended_operation& operation) noexcept {
        tryst::detail::yield_until([&] {
            const std::scoped_lock lock(mutex_);
            return operation.woken;
        });
    }

    /// Calls `post`, which posts to the context, unless the context has ended (I24). Call from any
    /// thread, while the registry exists.
    template <class Post>
    void post_unless_ended(Post post) {
        const std::scoped_lock lock(gate_);
        if (open_) {
            post();
        }
    }

private:
    /// Caches the registry that a thread found last, because Asio's search takes a lock. The cache
    /// is invalid once any context has ended, because another may live at its address.
    struct latest_search {
        net::execution_context* context = nullptr;
        std::uint64_t ended = 0;
        registry* found = nullptr;
    };
    inline static tryst::detail::atomic<std::uint64_t> ended_contexts{0};

    static registry& of_context(net::execution_context& context) {
        auto& latest = tryst::detail::per_thread<latest_search>();
        // Relaxed: see the destructor.
        const std::uint64_t ended = ended_contexts.load(std::memory_order_relaxed);
        if (latest.context != &context || latest.ended != ended) {
            latest = {&context, ended, &net::use_service<registry>(context)};
        }
        return *latest.found;
    }

    /// An executor that only knows its context.
    struct anywhere {
        net::execution_context& query(net::execution::context_t /*which*/) const noexcept {
            return *context;
        }
        template <class Function>
        void execute(Function&& /*never*/) const noexcept {}
        bool operator==(const anywhere&) const noexcept = default;
        net::execution_context* context;
    };

    static constexpr net::execution::context_as_t<net::execution_context&> as_context{};

    void shutdown() noexcept final {
        {
            const std::scoped_lock lock(gate_);
            open_ = false;
        }
        std::unique_lock lock(mutex_);
        ended_ = true;
        while (suspended_operation* const operation = first_) {
            unlink(*operation);
            lock.unlock();
            operation->context_ends(); // may destroy other operations
            lock.lock();
        }
    }

    void unlink(suspended_operation& removed) noexcept {
        if (removed.previous != nullptr) {
            removed.previous->next = removed.next;
        } else if (first_ == &removed) {
            first_ = removed.next;
        } else {
            return; // `shutdown` has unlinked it
        }
        if (removed.next != nullptr) {
            removed.next->previous = removed.previous;
        }
        removed.previous = removed.next = nullptr;
    }

    // Recursive: a strand that was shut down before its context destroys work as soon as `wake`
    // queues it, and the destruction may call the registry.
    std::recursive_mutex mutex_;
    suspended_operation* first_ = nullptr;
    bool ended_ = false;

    std::mutex gate_;
    bool open_ = true;
};

} // namespace detail
TRYST_ASIO_END
