// SPDX-License-Identifier: MIT
/// @file
/// The arguments of an operation, in the form in which the kernel takes them.
/// Standard library only.
#pragma once

#include <cstdint>

namespace tryst::uring::detail {

/// The kind of an operation. The kernel knows all but the last two.
enum class opcode : std::uint8_t {
    nop,
    read,
    write,
    read_fixed,
    write_fixed,
    fsync,
    openat,
    close,
    accept,
    connect,
    send,
    recv,
    poll,
    readv,
    writev,
    sendmsg,
    recvmsg,
    splice,
    statx,
    unlinkat,
    renameat,
    mkdirat,
    fallocate,
    shutdown,
    socket,
    accept_multishot, ///< Completes again and again.
    recv_multishot, ///< Completes again and again.
    timeout, ///< Emulated by a timer of the loop.
    next, ///< Waits for the next completion of a multishot operation.
};

/// The members of a submission queue entry. The memory that they refer to must remain valid until
/// the operation is over.
struct request {
    opcode code = opcode::nop;
    std::uint16_t buffer =
        0; ///< A registered buffer, or a group of provided buffers. splice: its flags.
    int descriptor = -1;
    std::uint32_t length = 0;
    std::uint32_t flags = 0; ///< splice: the file to read from.
    std::uint64_t address = 0;
    std::uint64_t offset = 0;
};

} // namespace tryst::uring::detail
