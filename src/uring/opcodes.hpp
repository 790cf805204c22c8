// SPDX-License-Identifier: MIT
/// @file
/// The properties of each kind of operation. A new kind needs a row here and a member of `context`.
#pragma once

#include <tryst/uring/operation.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <liburing.h>

namespace tryst::uring::detail {

/// The place where the kernel keeps an operation that cannot complete at once. A cancellation
/// searches these places.
enum class place : std::uint8_t {
    poll_table, ///< Among the waiters of a file. Also used for operations that never wait.
    worker_queue, ///< In the queue of the kernel's own threads, because it may block.
};

struct opcode_traits {
    opcode code;
    const char* name; ///< For messages.
    /// The kernel's opcode. IORING_OP_LAST: this operation is emulated in user space.
    io_uring_op kernels = IORING_OP_LAST;
    place waits_in = place::poll_table;
    /// Whether it may start again after an interruption or cancellation. False if it may already
    /// have changed the socket or the table of files.
    bool restarts = true;
};

inline constexpr std::array opcode_table{
    opcode_traits{opcode::nop, "nop", IORING_OP_NOP},
    opcode_traits{opcode::read, "read", IORING_OP_READ},
    opcode_traits{opcode::write, "write", IORING_OP_WRITE},
    opcode_traits{opcode::read_fixed, "read_fixed", IORING_OP_READ_FIXED},
    opcode_traits{opcode::write_fixed, "write_fixed", IORING_OP_WRITE_FIXED},
    opcode_traits{opcode::fsync, "fsync", IORING_OP_FSYNC, place::worker_queue},
    opcode_traits{opcode::openat, "openat", IORING_OP_OPENAT, place::worker_queue},
    opcode_traits{opcode::close, "close", IORING_OP_CLOSE, place::worker_queue, false},
    opcode_traits{opcode::accept, "accept", IORING_OP_ACCEPT},
    opcode_traits{opcode::connect, "connect", IORING_OP_CONNECT, place::poll_table, false},
    opcode_traits{opcode::send, "send", IORING_OP_SEND},
    opcode_traits{opcode::recv, "recv", IORING_OP_RECV},
    opcode_traits{opcode::poll, "poll", IORING_OP_POLL_ADD},
    opcode_traits{opcode::readv, "readv", IORING_OP_READV},
    opcode_traits{opcode::writev, "writev", IORING_OP_WRITEV},
    opcode_traits{opcode::sendmsg, "sendmsg", IORING_OP_SENDMSG},
    opcode_traits{opcode::recvmsg, "recvmsg", IORING_OP_RECVMSG},
    opcode_traits{opcode::splice, "splice", IORING_OP_SPLICE, place::worker_queue},
    opcode_traits{opcode::statx, "statx", IORING_OP_STATX, place::worker_queue},
    opcode_traits{opcode::unlinkat, "unlinkat", IORING_OP_UNLINKAT, place::worker_queue},
    opcode_traits{opcode::renameat, "renameat", IORING_OP_RENAMEAT, place::worker_queue},
    opcode_traits{opcode::mkdirat, "mkdirat", IORING_OP_MKDIRAT, place::worker_queue},
    opcode_traits{opcode::fallocate, "fallocate", IORING_OP_FALLOCATE, place::worker_queue},
    opcode_traits{opcode::shutdown, "shutdown", IORING_OP_SHUTDOWN, place::worker_queue},
    opcode_traits{opcode::socket, "socket", IORING_OP_SOCKET},
    opcode_traits{opcode::accept_multishot, "accept", IORING_OP_ACCEPT},
    opcode_traits{opcode::recv_multishot, "recv", IORING_OP_RECV},
    opcode_traits{opcode::timeout, "timeout"},
    opcode_traits{opcode::next, "next"},
};

/// Whether the index of each row is its opcode.
constexpr bool is_in_order() noexcept {
    for (std::size_t i = 0; i != opcode_table.size(); ++i) {
        if (static_cast<std::size_t>(opcode_table[i].code) != i) {
            return false;
        }
    }
    return static_cast<std::size_t>(opcode::next) + 1 == opcode_table.size();
}
static_assert(is_in_order());

constexpr const opcode_traits& traits_of(opcode code) noexcept {
    return opcode_table[static_cast<std::size_t>(code)];
}

/// Whether an operation was interrupted. Interrupted operations on the kernel's workers may end
/// with ERESTARTSYS or one of its variants, which are not meant for user space.
constexpr bool is_interruption(int result) noexcept {
    return result == -EINTR || (result <= -512 && result >= -516);
}

constexpr bool waits_for_worker(opcode code) noexcept {
    return traits_of(code).waits_in == place::worker_queue;
}

} // namespace tryst::uring::detail
