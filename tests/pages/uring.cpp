// SPDX-License-Identifier: MIT
// What docs/adapters.md and docs/uring.md show of io_uring, within a program.
#include "context.hpp"

#include <tryst/uring.hpp>

#include <sys/socket.h>

using buffer = std::vector<std::byte>;

#include "docs/adapters.md/2"

#include "docs/uring.md/4"
