// SPDX-License-Identifier: MIT
// An exchange in an Asio coroutine that gives up when a timer expires. The item is never lost.
#include <tryst/asio.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;
using meeting = tryst::exchanger<std::string>;

// `a || b` drops the result of the slower operation, so the result is stored outside of it.
asio::awaitable<void> keep(meeting& ex, std::string item,
                           std::optional<tryst::exchange_result<std::string>>& result) {
    result.emplace(co_await tryst::asio::wait(ex.exchange(std::move(item))));
}

asio::awaitable<void> offer(meeting& ex, std::string item, std::chrono::milliseconds patience) {
    asio::steady_timer timer(co_await asio::this_coro::executor, patience);
    std::optional<tryst::exchange_result<std::string>> result;
    co_await (keep(ex, std::move(item), result) || timer.async_wait(asio::use_awaitable));
    if (*result) {
        std::printf("got %s\n", (**result).c_str());
    } else {
        std::printf("%s: still have %s\n", result->error().message().c_str(),
                    result->returned().c_str());
    }
}

// NOLINTNEXTLINE(bugprone-exception-escape)
int main() {
    asio::io_context io;
    meeting ex;
    co_spawn(io, offer(ex, "tea", 1h), asio::detached);
    co_spawn(io, offer(ex, "coffee", 1h), asio::detached);
    io.run();
    co_spawn(io, offer(ex, "milk", 10ms), asio::detached);
    io.restart();
    io.run();
}
