// SPDX-License-Identifier: MIT
/// @file
/// What a socket receives, piece by piece, for one request to the kernel.
/// Standard library only.
#pragma once

#include <tryst/uring/buffer_pool.hpp>
#include <tryst/uring/context.hpp>
#include <tryst/uring/detail/stream.hpp>
#include <tryst/uring/limits.hpp>
#include <tryst/uring/result.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace tryst::uring {

class recv_stream;

/// A piece of a stream, in one of its buffers, which it gives back when it is destroyed. Empty at the end
/// of the stream. To be destroyed on the stream's context, before the stream.
class [[nodiscard]] received {
public:
    /// Takes the other's piece, which is then the end.
    received(received&& other) noexcept
        : stream_(std::exchange(other.stream_, nullptr)), bytes_(std::exchange(other.bytes_, {})) {}
    /// Swaps the two.
    received& operator=(received&& other) noexcept {
        std::swap(stream_, other.stream_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~received();

    /// What has come; none at the end.
    std::span<std::byte> bytes() const noexcept { return bytes_; }
    /// Whether the stream has ended.
    bool is_end() const noexcept { return bytes_.empty(); }

private:
    friend class recv_stream;
    received(recv_stream* stream, std::span<std::byte> bytes) noexcept
        : stream_(stream), bytes_(bytes) {}

    recv_stream* stream_; ///< Null at the end.
    std::span<std::byte> bytes_;
};

/// Receives as the data comes: multishot recv into a ring of buffers of its own, or recv again and again
/// where the kernel does not know it. Lives on its context.
class recv_stream : private detail::stream_base {
public:
    /// @param socket  a connected socket, which must stay open as long as this.
    /// @param count   of buffers, a power of two; so much can be received before somebody looks.
    /// @param size    of each, in bytes.
    /// @throws std::system_error "register_buf_ring" if the kernel cannot; std::invalid_argument if `size`
    ///   or `count` is 0, or `size` 4 GiB or more; std::bad_alloc.
    recv_stream(context& owner, int socket, std::size_t count = 8, std::size_t size = 4096);
    ~recv_stream();

    /// Waits for the next piece: an `operation` but for where it comes from.
    class [[nodiscard]] next_operation : public stream_base::next_operation {
    public:
        /// What `next` makes.
        next_operation(recv_stream& stream, limits&& until) noexcept
            : stream_base::next_operation(stream, std::move(until)), owner_(&stream) {}
        ~next_operation();
        /// For `co_await`: the piece.
        result<received> await_resume() noexcept;

    private:
        received take() noexcept;

        recv_stream* owner_; ///< Null once the result is taken.
    };

    /// The next piece. One waits at a time.
    /// @returns ENOBUFS if all buffers hold pieces that have not been destroyed; it may be called again.
    next_operation next(limits until = {}) noexcept { return {*this, std::move(until)}; }

private:
    friend class received;

    static void drop(stream_base& self, completion lost) noexcept;
    received piece(completion got) noexcept;
    void give_back(std::byte* first) noexcept;

    buffer_pool memory_;
    buffer_pool ring_memory_; ///< Of the ring that lists the buffers the kernel may fill.
};

} // namespace tryst::uring
