// SPDX-License-Identifier: MIT
// Operations allocate nothing. A program of its own, because it counts all allocations.
#include "adapters/uring/harness.hpp"
#include "adapters/uring/operations.hpp"
#include "support/counted_memory.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <utility>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test;
using tryst::task;

constexpr int rounds = 100;

/// Awaits the operation that `make` returns, again and again.
template <class Make>
void expect_no_allocations(context& loop, Make make) {
    const auto work = [&]() -> task<> {
        static_cast<void>(co_await make()); // registers buffers, for instance
        const long before = allocations;
        for (int i = 0; i != rounds; ++i) {
            static_cast<void>(co_await make());
        }
        EXPECT_EQ(allocations - before, 0);
    };
    loop.run(work());
}

TEST(UringAllocation, DoesNotHappenInOperations) {
    context loop;
    silence with;
    workplace at;
    const std::stop_source stop;
    const auto token = stop.get_token();
    for_each_waiting_operation([&](const char* name, auto make) {
        SCOPED_TRACE(name);
        expect_no_allocations(loop, [&] { return make(with, loop, 1us, token); });
    });
    for_each_deed([&](const char* name, auto, auto make) {
        SCOPED_TRACE(name);
        expect_no_allocations(loop, [&] { return make(at, loop, token, 1h); });
    });
    const std::span<std::byte> bytes(with.bytes);
    const int file = at.file.get();
    expect_no_allocations(loop, [&] { return loop.write(file, bytes, 0, 1h, token); });
    expect_no_allocations(loop, [&] { return loop.read(file, bytes, 0, 1h, token); });
    expect_no_allocations(loop, [&] { return loop.timeout(1us, token); });
    expect_no_allocations(loop, [&] { return loop.close(descriptor(::dup(file)), token); });
}

TEST(UringAllocation, DoesNotHappenInBuffers) {
    tryst::uring::buffer_pool pool(4, 4'096);
    const long before = allocations;
    for (int i = 0; i != rounds; ++i) {
        const auto first = pool.acquire();
        auto second = pool.acquire();
        const auto third = std::move(second);
    }
    EXPECT_EQ(allocations - before, 0);
}

} // namespace
