// SPDX-License-Identifier: MIT
/// @file
/// The executors that wait in an execution context, and that end with the context.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/linked_list.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

class registered_executor;

/// Has room for one entry in the queue of an io_context, a thread_pool or a strand, if the queued
/// function consists of one pointer.
struct handler_memory {
    static constexpr std::size_t alignment = alignof(void*);
#if defined(ASIO_HAS_IOCP) || defined(BOOST_ASIO_HAS_IOCP) // each entry begins with an OVERLAPPED
    static constexpr std::size_t size = sizeof(OVERLAPPED) + 5 * sizeof(void*);
#else
    static constexpr std::size_t size = 5 * sizeof(void*);
#endif
    union {
        alignas(alignment) std::byte bytes[size];
        registered_executor* next_ready; ///< In a `registry::scope`, without an entry.
    };
    bool taken = false;
};

/// Allocates from a `handler_memory`, so that any thread can queue an entry without allocating.
/// Larger entries come from Asio's recycled memory. Asio frees an entry before it runs it, so the
/// memory can then hold the next entry.
template <class T>
class handler_allocator {
public:
    using value_type = T;

    explicit handler_allocator(handler_memory& memory) noexcept : memory_(&memory) {}
    template <class U>
    handler_allocator(const handler_allocator<U>& other) noexcept : memory_(other.memory_) {}

    T* allocate(std::size_t count) {
        if (!memory_->taken && count * sizeof(T) <= sizeof memory_->bytes &&
            alignof(T) <= handler_memory::alignment) {
            memory_->taken = true;
            return reinterpret_cast<T*>(memory_->bytes);
        }
        return net::recycling_allocator<T>().allocate(count);
    }

    void deallocate(T* memory, std::size_t count) noexcept {
        if (reinterpret_cast<std::byte*>(memory) == memory_->bytes) {
            memory_->taken = false;
        } else {
            net::recycling_allocator<T>().deallocate(memory, count);
        }
    }

    template <class U>
    bool operator==(const handler_allocator<U>& other) const noexcept {
        return memory_ == other.memory_;
    }

private:
    template <class U>
    friend class handler_allocator;
    handler_memory* memory_;
};

class registry;
class registry_list;

/// An executor that has at most one entry in a queue of its context. Without an entry, it may wait
/// in the registry of the context until a waker queues one.
class registered_executor : public tryst::detail::list_links<registered_executor> {
public:
    registered_executor(registered_executor&&) = delete;

    /// Queues the entry.
    virtual void enqueue() noexcept = 0;

    /// Does what the entry does.
    virtual void run() = 0;

    /// Called when no entry will run any more: the context is being destroyed, or has destroyed the
    /// entry. Destroys what waits on the executor, and may end the executor's lifetime.
    virtual void on_shutdown() noexcept = 0;

    /// Waits for a waker that is about to queue an entry. Does nothing if `on_shutdown` does that.
    virtual void await_waker() noexcept {}

    /// Leaves the registry, so that no waker will come. Precondition: no entry is running.
    /// @returns true if nothing refers to the executor any more, false if a queued entry does.
    bool leave() noexcept {
        await_waker();
        unregister();
        return entry_state() != entry::queued;
    }

    /// As above. Precondition: no waker will come anyway.
    void unregister() noexcept;

    /// Where the only entry of the executor is.
    enum class entry : std::uint8_t {
        none, ///< There is no entry.
        queued, ///< In a queue of the context, which runs or destroys it, or on the way there.
        stranded, ///< In no queue, because the context has ended. No waker will come.
    };

    entry entry_state() const noexcept {
        // [R6] acquire, pairs with [R7].
        return entry_.load(std::memory_order_acquire);
    }
    void set_entry(entry where) noexcept {
        // [R7] release, pairs with [R6]: the waker has made its last access.
        entry_.store(where, std::memory_order_release);
    }

    /// The registry that the executor was added to, or null.
    registry* home() const noexcept;

    registry_list* list = nullptr; ///< Its list. Null before `registry::add`.
    [[no_unique_address]] handler_memory memory; ///< For the entry.
    bool is_registered = false; ///< Set by the registry.
    bool is_direct = false; ///< Whether its entries go into the context's own queue.

protected:
    registered_executor() = default;
    ~registered_executor() = default;

private:
    tryst::detail::atomic<entry> entry_{entry::none};
};

/// A list with a lock that is held for a few instructions.
class alignas(tryst::detail::line_pair) registry_list {
public:
    void lock() noexcept {
        if (has_lock) {
            tryst::detail::yield_until([this] {
                // [R4] acquire, pairs with [R5].
                return !locked_.exchange(true, std::memory_order_acquire);
            });
        }
    }
    void unlock() noexcept {
        // [R5] release, pairs with [R4]: the list.
        locked_.store(false, std::memory_order_release);
    }

    registry* owner = nullptr;
    bool has_lock = true; ///< False if the context has no locks either.

    tryst::detail::linked_list<registered_executor> executors;

private:
    tryst::detail::atomic<bool> locked_{false};
};

inline registry* registered_executor::home() const noexcept {
    return list == nullptr ? nullptr : list->owner;
}

inline void registered_executor::unregister() noexcept {
    if (std::exchange(is_registered, false)) {
        const std::scoped_lock lock(*list);
        if (is_linked()) { // else the registry has taken it out
            list->executors.remove(*this);
        }
    }
}

} // namespace detail
TRYST_ASIO_END
