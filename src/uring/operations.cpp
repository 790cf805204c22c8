// SPDX-License-Identifier: MIT
// More operations of a context: each makes a request for the kernel.
#include <tryst/uring/context.hpp>

#include "reactor.hpp"

#include <algorithm>

#include <sys/socket.h>

namespace tryst::uring {

operation<std::size_t> context::sendmsg(int socket, const msghdr* message, int flags,
                                        limits until) noexcept {
    return make<std::size_t>({.code = opcode::sendmsg,
                              .descriptor = socket,
                              .length = 1,
                              .flags = static_cast<std::uint32_t>(flags | MSG_NOSIGNAL),
                              .address = bits(message)},
                             until);
}

operation<std::size_t> context::recvmsg(int socket, msghdr* message, int flags,
                                        limits until) noexcept {
    return make<std::size_t>({.code = opcode::recvmsg,
                              .descriptor = socket,
                              .length = 1,
                              .flags = static_cast<std::uint32_t>(flags),
                              .address = bits(message)},
                             until);
}

operation<std::size_t> context::splice(int from, std::uint64_t from_offset, int into,
                                       std::uint64_t into_offset, std::size_t length,
                                       unsigned flags, limits until) noexcept {
    // A request has 16 bits left for the flags. The kernel knows four flags, and refuses others.
    return make<std::size_t>({.code = opcode::splice,
                              .buffer = static_cast<std::uint16_t>(std::min(flags, 0xffffU)),
                              .descriptor = into,
                              .length = length_of(length),
                              .flags = static_cast<std::uint32_t>(from),
                              .address = from_offset,
                              .offset = into_offset},
                             until);
}

operation<void> context::statx(int directory, const char* path, int flags, unsigned mask,
                               struct ::statx* status, limits until) noexcept {
    return make<void>({.code = opcode::statx,
                       .descriptor = directory,
                       .length = mask,
                       .flags = static_cast<std::uint32_t>(flags),
                       .address = bits(path),
                       .offset = bits(status)},
                      until);
}

operation<void> context::unlinkat(int directory, const char* path, int flags,
                                  limits until) noexcept {
    return make<void>({.code = opcode::unlinkat,
                       .descriptor = directory,
                       .flags = static_cast<std::uint32_t>(flags),
                       .address = bits(path)},
                      until);
}

operation<void> context::renameat(int from_directory, const char* from, int to_directory,
                                  const char* to, unsigned flags, limits until) noexcept {
    return make<void>({.code = opcode::renameat,
                       .descriptor = from_directory,
                       .length = static_cast<std::uint32_t>(to_directory),
                       .flags = flags,
                       .address = bits(from),
                       .offset = bits(to)},
                      until);
}

operation<void> context::mkdirat(int directory, const char* path, mode_t mode,
                                 limits until) noexcept {
    return make<void>(
        {.code = opcode::mkdirat, .descriptor = directory, .length = mode, .address = bits(path)},
        until);
}

operation<void> context::fallocate(int file, int mode, std::uint64_t offset, std::uint64_t length,
                                   limits until) noexcept {
    return make<void>({.code = opcode::fallocate,
                       .descriptor = file,
                       .length = static_cast<std::uint32_t>(mode),
                       .address = length,
                       .offset = offset},
                      until);
}

operation<void> context::shutdown(int socket, int how, limits until) noexcept {
    return make<void>(
        {.code = opcode::shutdown, .descriptor = socket, .length = static_cast<std::uint32_t>(how)},
        until);
}

operation<descriptor> context::socket(int domain, int type, int protocol, limits until) noexcept {
    return make<descriptor>({.code = opcode::socket,
                             .descriptor = domain,
                             .length = static_cast<std::uint32_t>(protocol),
                             .offset = static_cast<std::uint32_t>(type | SOCK_CLOEXEC)},
                            until);
}

} // namespace tryst::uring
