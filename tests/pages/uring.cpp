// SPDX-License-Identifier: MIT
// What docs/uring.md shows of io_uring, within a program.
#include "context.hpp"

#include <tryst/uring.hpp>

#include <sys/socket.h>

using buffer = std::vector<std::byte>;

#include "docs/uring.md/4"
