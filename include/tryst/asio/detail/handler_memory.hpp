// SPDX-License-Identifier: MIT
/// @file
/// Memory for one entry in an Asio executor's queue.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>

#include <cstddef>

TRYST_ASIO_BEGIN
namespace detail {

/// Has room for one entry in the queue of an io_context, a thread_pool or a strand, if the queued
/// function consists of one pointer.
struct handler_memory {
    static constexpr std::size_t alignment = alignof(void*);
#if defined(ASIO_HAS_IOCP) || defined(BOOST_ASIO_HAS_IOCP) // each entry begins with an OVERLAPPED
    static constexpr std::size_t size = sizeof(OVERLAPPED) + 5 * sizeof(void*);
#else
    static constexpr std::size_t size = 5 * sizeof(void*);
#endif
    alignas(alignment) std::byte bytes[size];
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

} // namespace detail
TRYST_ASIO_END
