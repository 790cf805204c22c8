// SPDX-License-Identifier: MIT
// What docs/fiber.md shows, within a program.
#include "context.hpp"

#include <tryst/fiber.hpp>

using buffer = std::string;

void stage(tryst::exchanger<buffer>& ex, buffer full, std::stop_token stop) {
#include "docs/fiber.md/1"
}
