// SPDX-License-Identifier: MIT
/// @file
/// What an execution context knows of the work that waits to go on in it, so that it can destroy it.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#include <tryst/detail/platform/atomic.hpp>

#include <cstdint>
#include <mutex>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/// Work that sleeps: in no queue of its context, until somebody wakes it.
class suspended_operation {
public:
    suspended_operation(const suspended_operation&) = delete;
    suspended_operation& operator=(const suspended_operation&) = delete;

    /// The context is going, and no more work can be queued in it. One who wakes may still be on the way.
    virtual void context_ends() noexcept = 0;

    suspended_operation* previous = nullptr; ///< The registry's, as are the next two.
    suspended_operation* next = nullptr;
    bool woken = false;

protected:
    suspended_operation() = default;
    ~suspended_operation() = default;
};

/// The sleepers of one execution context.
///
/// Whoever wakes a suspended_operation, on any thread, queues its work in the context; when the context is being
/// destroyed, it must not any more. The mutex decides: a waker that holds it finds the context alive, or
/// that it is gone.
class registry final : public net::execution_context::service {
public:
    inline static net::execution_context::id id;

    /// Strands have a service of their own, which is made here, unless it is there already: services are shut
    /// down in the opposite order, and so nobody is woken by way of a strand while that is shut down. (It would
    /// lose what it is just putting into a queue, and the handler keeps the strand with that queue for ever.)
    explicit registry(net::execution_context& context) : net::execution_context::service(context) {
        const net::strand<anywhere> made(anywhere{&context});
    }

    /// One that was made during the context's shutdown has not been shut down.
    ~registry() override {
        shutdown();
        // Relaxed: who uses another context at the same address knows by that of this one's end.
        ended_contexts.fetch_add(1, std::memory_order_relaxed);
    }

    /// The registry of the context that `executor` belongs to; of the system's, if it tells of none.
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

    /// Wakes a suspended_operation: removes it, and calls `queue`, which queues its work. If the context is going, it stays,
    /// for `shutdown` to find. After that the caller must not touch it.
    template <class Queue>
    void wake(suspended_operation& one, Queue queue) noexcept {
        const std::scoped_lock lock(mutex_);
        one.woken = true;
        if (!ended_) {
            unlink(one);
            queue(); // last: its work may run, or be destroyed, at once
        }
    }

    /// Waits for the one who is about to wake it.
    void await_waker(const suspended_operation& one) noexcept {
        tryst::detail::yield_until([&] {
            const std::scoped_lock lock(mutex_);
            return one.woken;
        });
    }

    /// Calls `post`, which posts to the context, unless that is going. From any thread, while the registry lives.
    template <class Post>
    void post_unless_ended(Post post) {
        const std::scoped_lock lock(gate_);
        if (open_) {
            post();
        }
    }

private:
    /// What a thread has found last: Asio's search takes a lock, and that for each operation. Valid while no other
    /// context ends, whose place `context` could have taken.
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

    /// An executor that knows only its context.
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
        while (suspended_operation* const one = first_) {
            unlink(*one);
            lock.unlock();
            one->context_ends(); // may end others
            lock.lock();
        }
    }

    void unlink(suspended_operation& removed) noexcept {
        if (removed.previous != nullptr) {
            removed.previous->next = removed.next;
        } else if (first_ == &removed) {
            first_ = removed.next;
        } else {
            return; // shutdown has done so
        }
        if (removed.next != nullptr) {
            removed.next->previous = removed.previous;
        }
        removed.previous = removed.next = nullptr;
    }

    // Recursive: a strand that has been shut down, sooner than its context, destroys what `queue` queues.
    std::recursive_mutex mutex_;
    suspended_operation* first_ = nullptr;
    bool ended_ = false;

    // Not the same: a suspended_operation that is destroyed under the other may have to wait for who is posting.
    std::mutex gate_;
    bool open_ = true;
};

} // namespace detail
TRYST_ASIO_END
