// SPDX-License-Identifier: MIT
// What docs/fiber.md and docs/adapters.md show of fibers, within a program.
#include <tryst/fiber.hpp>
#include <tryst/tryst.hpp>

#include <chrono>
#include <stop_token>
#include <string>
#include <utility>

using namespace std::chrono_literals;
using buffer = std::string;

void stage(tryst::exchanger<buffer>& ex, buffer full, std::stop_token stop) {
    auto got = tryst::fiber::wait(ex.exchange(std::move(full)));
    if (got) {
        full = *std::move(got);
    }
    auto next = tryst::fiber::wait(ex.exchange(std::move(full), 5ms, stop));
}
