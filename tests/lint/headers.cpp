// SPDX-License-Identifier: MIT
// Every public header; see CMakeLists.txt.
#include <tryst/asio.hpp>
#include <tryst/fiber.hpp>
#include <tryst/redis/options.hpp>
#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>
