// SPDX-License-Identifier: MIT
/// @file
/// Receives the data of a socket in many pieces with a single request to the kernel.
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

/// A piece of a stream, in one of its buffers; the destructor gives the buffer back. Empty at the
/// end of the stream. Must be destroyed on the stream's context, before the stream.
class [[nodiscard]] received {
public:
    /// Takes over the piece of `other`, which is then empty.
    received(received&& other) noexcept
        : stream_(std::exchange(other.stream_, nullptr)), bytes_(std::exchange(other.bytes_, {})) {}
    /// Swaps the two pieces.
    received& operator=(received&& other) noexcept {
        std::swap(stream_, other.stream_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~received();

    /// The data; empty at the end of the stream.
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

/// Receives data as it arrives: by a multishot recv, or by repeated recvs on older kernels. The
/// kernel chooses from the stream's own ring of buffers. Make it, use it and destroy it on its
/// context, after the operation that waits for it.
class recv_stream : private detail::stream_base {
public:
    /// @param socket  a connected socket, which must remain open as long as the stream exists.
    /// @param count   number of buffers, a power of two; that many pieces can arrive before `next`
    ///   is awaited.
    /// @param size    of each buffer, in bytes.
    /// @throws std::system_error "register_buf_ring" if the kernel refuses the ring of buffers;
    ///   std::invalid_argument if `size` or `count` is 0, or if `size` is 4 GiB or more;
    ///   std::bad_alloc.
    recv_stream(context& owner, int socket, std::size_t count = 8, std::size_t size = 4096);
    ~recv_stream();

    /// Waits for the next piece; otherwise like an `operation<received>`.
    class [[nodiscard]] next_operation : public stream_base::next_operation {
    public:
        using stream_base::next_operation::next_operation;
        ~next_operation();
        /// For `co_await`: the piece.
        result<received> await_resume() noexcept;

    private:
        received take() noexcept;
    };

    /// The next piece. Only one operation may wait for a stream at a time.
    /// @returns the piece, or an error. ENOBUFS means that pieces occupy all buffers; `next` may be
    ///   called again after it.
    next_operation next(auto... limit) noexcept { return {*this, {std::move(limit)...}}; }

private:
    friend class received;

    static void drop(stream_base& self, completion lost) noexcept;
    received piece(completion got) noexcept;
    void give_back(std::byte* first) noexcept;

    buffer_pool memory_;
    buffer_pool ring_memory_; ///< The ring that lists the buffers which the kernel may fill.
};

} // namespace tryst::uring
