// SPDX-License-Identifier: MIT
/// @file
/// Page-aligned buffers, whose memory can be registered with the kernel.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace tryst::uring {

class buffer_pool;

/// Owns one buffer of a pool, or none, and gives it back when it is destroyed. An exchange
/// transfers the ownership; the bytes stay in place.
class [[nodiscard]] buffer {
public:
    /// No buffer.
    buffer() noexcept = default;
    /// Takes over the buffer of `other`, which then owns none.
    buffer(buffer&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), data_(std::exchange(other.data_, nullptr)) {}
    /// Gives its own buffer back, if there is one, and takes over that of `other`.
    buffer& operator=(buffer&& other) noexcept {
        if (this != &other) {
            reset();
            pool_ = std::exchange(other.pool_, nullptr);
            data_ = std::exchange(other.data_, nullptr);
        }
        return *this;
    }
    ~buffer() { reset(); }

    /// Whether it owns a buffer.
    explicit operator bool() const noexcept { return data_ != nullptr; }

    /// The first byte; null without a buffer.
    std::byte* data() const noexcept { return data_; }
    /// The size in bytes; 0 without a buffer.
    inline std::size_t size() const noexcept;
    /// The whole buffer.
    std::span<std::byte> bytes() const noexcept { return {data_, size()}; }

    /// The pool of the buffer; null without a buffer.
    const buffer_pool* pool() const noexcept { return pool_; }

    /// Gives the buffer back, if there is one. @allocation none.
    inline void reset() noexcept;

private:
    friend class buffer_pool;
    buffer(buffer_pool& pool, std::byte* data) noexcept : pool_(&pool), data_(data) {}

    buffer_pool* pool_ = nullptr;
    std::byte* data_ = nullptr;
};

/// A number of buffers of one size, each aligned to a page, as O_DIRECT demands. Buffers may be
/// acquired, used and given back on any thread; the pool must outlive them. To speed up fixed reads
/// and writes, register the pool with each context that uses it (`context::register_buffers`).
class buffer_pool {
public:
    /// @param size  in bytes; rounded up to whole pages.
    /// @throws std::invalid_argument if `count` or `size` is 0; std::bad_alloc if there is too
    ///   little memory.
    buffer_pool(std::size_t count, std::size_t size);
    buffer_pool(const buffer_pool&) = delete;
    buffer_pool& operator=(const buffer_pool&) = delete;
    ~buffer_pool();

    /// Takes a free buffer. @returns an empty handle if no buffer is free. @allocation none.
    /// @progress never waits for a buffer. Like `reset`, it locks a mutex for a few instructions.
    buffer acquire() noexcept;

    /// The number of buffers, free or not.
    std::size_t buffer_count() const noexcept { return count_; }
    /// The size of each buffer, in bytes: whole pages.
    std::size_t buffer_size() const noexcept { return size_; }

    /// The memory of all buffers, which are adjacent.
    std::span<std::byte> memory() const noexcept { return {memory_, count_ * size_}; }

    /// A number that no other pool of the process ever has, not even a later one at the same
    /// address. Never 0.
    std::uint64_t serial() const noexcept { return serial_; }

private:
    friend class buffer;
    void release(std::byte* data) noexcept;

    std::uint64_t serial_;
    std::size_t count_;
    std::size_t size_;
    std::byte* memory_;
    std::mutex mutex_;
    std::vector<std::byte*> free_;
};

inline std::size_t buffer::size() const noexcept {
    return pool_ == nullptr ? 0 : pool_->buffer_size();
}

inline void buffer::reset() noexcept {
    if (data_ != nullptr) {
        std::exchange(pool_, nullptr)->release(std::exchange(data_, nullptr));
    }
}

} // namespace tryst::uring
