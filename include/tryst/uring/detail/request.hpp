// SPDX-License-Identifier: MIT
/// @file
/// The arguments of an operation, in the form in which the kernel takes them.
#pragma once

#include <concepts>
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

/// A number or an address, as the kernel takes them.
struct request_field {
    constexpr request_field(std::integral auto number) noexcept
        : bits(static_cast<std::uint64_t>(number)) {}
    request_field(const void* address) noexcept : bits(reinterpret_cast<std::uintptr_t>(address)) {}

    std::uint64_t bits;
};

/// The members of a submission queue entry. The memory that they refer to must remain valid until
/// the operation is over.
struct request {
    /// The order is that of the arguments of most system calls.
    request(opcode kind, int file = -1, request_field where = 0, request_field size = 0,
            request_field options = 0, request_field position = 0, unsigned group = 0) noexcept
        : code(kind), buffer(static_cast<std::uint16_t>(group)), descriptor(file),
          length(static_cast<std::uint32_t>(size.bits)),
          flags(static_cast<std::uint32_t>(options.bits)), address(where.bits),
          offset(position.bits) {}

    opcode code;
    std::uint16_t buffer; ///< A registered buffer, or a group of buffers. splice: its flags.
    int descriptor;
    std::uint32_t length;
    std::uint32_t flags; ///< splice: the file to read from.
    std::uint64_t address;
    std::uint64_t offset;
};

} // namespace tryst::uring::detail
