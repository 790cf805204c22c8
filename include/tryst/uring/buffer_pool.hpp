// SPDX-License-Identifier: MIT
/// @file
/// Page-aligned memory that the kernel can be told of once, instead of at each operation.
/// Standard library only.
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

/// Owns one buffer of a pool, or none, and gives it back when it is destroyed. Ownership is what passes
/// through an exchange; the bytes stay where they are.
class [[nodiscard]] buffer {
public:
    /// No buffer.
    buffer() noexcept = default;
    /// Takes the other's, and leaves it without.
    buffer(buffer&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), data_(std::exchange(other.data_, nullptr)) {}
    /// Gives its own back, if there is one, and takes the other's.
    buffer& operator=(buffer&& other) noexcept {
        if (this != &other) {
            reset();
            pool_ = std::exchange(other.pool_, nullptr);
            data_ = std::exchange(other.data_, nullptr);
        }
        return *this;
    }
    ~buffer() { reset(); }

    /// Whether there is one.
    explicit operator bool() const noexcept { return data_ != nullptr; }

    /// Its first byte; null for none.
    std::byte* data() const noexcept { return data_; }
    /// In bytes; 0 for none.
    inline std::size_t size() const noexcept;
    /// All of it.
    std::span<std::byte> bytes() const noexcept { return {data_, size()}; }

    /// Where it comes from; null for none.
    const buffer_pool* pool() const noexcept { return pool_; }

    /// Gives it back. @allocation none.
    inline void reset() noexcept;

private:
    friend class buffer_pool;
    buffer(buffer_pool& pool, std::byte* data) noexcept : pool_(&pool), data_(data) {}

    buffer_pool* pool_ = nullptr;
    std::byte* data_ = nullptr;
};

/// A number of buffers of one size, each aligned to a page, as O_DIRECT demands. Buffers may be acquired,
/// used and given back on any thread, and the pool must outlive them. Register it with every context that
/// shall read into them or write from them (`context::register_buffers`).
class buffer_pool {
public:
    /// @param size  in bytes; rounded up to whole pages.
    /// @throws std::invalid_argument if one is 0; std::bad_alloc if there is not that much memory.
    buffer_pool(std::size_t count, std::size_t size);
    buffer_pool(const buffer_pool&) = delete;
    buffer_pool& operator=(const buffer_pool&) = delete;
    ~buffer_pool();

    /// A buffer nobody has; an empty handle if there is none left. @allocation none.
    /// @progress takes a mutex for some instructions, as giving back does; nobody waits for a buffer.
    buffer acquire() noexcept;

    /// How many there are, whoever has them.
    std::size_t buffer_count() const noexcept { return count_; }
    /// Of each, in bytes: whole pages.
    std::size_t buffer_size() const noexcept { return size_; }

    /// All the memory, buffer after buffer.
    std::span<std::byte> memory() const noexcept { return {memory_, count_ * size_}; }

    /// Identifies the pool: unique in the process, even if a later pool has its address. Never 0.
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
