// SPDX-License-Identifier: MIT
// What docs/asio.md shows, within a program.
#include "context.hpp"

#include <tryst/asio.hpp>

#include <asio/awaitable.hpp>
#include <asio/bind_executor.hpp>
#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/strand.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

using buffer = std::string;
using meeting = tryst::exchanger<buffer>;

void keep(buffer&&) {}
void use(buffer&&) {}

using io_strand = asio::strand<asio::io_context::executor_type>;

void with_a_callback(meeting& ex, buffer full, std::stop_token stop, const io_strand& strand) {
#include "docs/asio.md/3"
}

tryst::task<> stage(meeting& ex) {
    auto got = co_await ex.exchange(buffer());
}

void run_tasks(meeting& ex) {
#include "docs/asio.md/4"
}

tryst::task<int> collect(meeting& ex, std::stop_token stop) {
    auto got = co_await ex.exchange(buffer(), std::move(stop));
    co_return got ? 1 : 0;
}

asio::awaitable<void> await_task(meeting& ex) {
#include "docs/asio.md/5"
    static_cast<void>(sum);
}

asio::awaitable<void> read_stoppably(asio::ip::tcp::socket& socket, asio::mutable_buffer room,
                                     std::stop_token stop) {
#include "docs/asio.md/6"
    static_cast<void>(count);
}
