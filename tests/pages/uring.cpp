// SPDX-License-Identifier: MIT
// What docs/uring.md shows, within a program.
#include "context.hpp"

#include <tryst/uring.hpp>

#include <sys/socket.h>

#include "docs/uring.md/2"

tryst::task<> serve(tryst::uring::context& loop, tryst::uring::descriptor socket) {
    std::array<std::byte, 16> buffer{};
    (co_await loop.recv(socket.get(), buffer)).value();
}

#include "docs/uring.md/3"
