// SPDX-License-Identifier: MIT
// What docs/adapters.md shows of io_uring, within a program.
#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

using buffer = std::vector<std::byte>;

tryst::task<> fill(tryst::uring::context& loop, int file, tryst::exchanger<buffer>& ex,
                   buffer mine) {
    const auto got = co_await loop.read(file, std::span(mine));
    mine.resize(got.value());
    auto swapped =
        co_await ex.exchange(std::move(mine)); // with a coroutine on any loop, or a thread
}
