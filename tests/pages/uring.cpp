// SPDX-License-Identifier: MIT
// What docs/adapters.md and docs/uring.md show of io_uring, within a program.
#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <chrono>
#include <cstddef>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include <sys/socket.h>

using namespace std::chrono_literals;
using buffer = std::vector<std::byte>;

tryst::task<> fill(tryst::uring::context& loop, int file, tryst::exchanger<buffer>& ex,
                   buffer mine) {
    const auto got = co_await loop.read(file, std::span(mine));
    mine.resize(got.value());
    auto swapped =
        co_await ex.exchange(std::move(mine)); // with a coroutine on any loop, or a thread
}

tryst::task<bool> fill_both(tryst::uring::context& loop, int socket, std::span<std::byte> head,
                            std::span<std::byte> body, std::stop_token stop) {
    const tryst::uring::limits until(5s, stop); // 5 seconds for both
    const auto first = co_await loop.recv(socket, head, MSG_WAITALL, until);
    const auto second = co_await loop.recv(socket, body, MSG_WAITALL, until);
    co_return first.value() + second.value() == head.size() + body.size();
}
