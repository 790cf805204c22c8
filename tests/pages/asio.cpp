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

asio::awaitable<void> in_an_awaitable(meeting& ex, buffer full) {
#include "docs/asio.md/1"
}

void keep(buffer&&) {}
void use(buffer&&) {}

using io_strand = asio::strand<asio::io_context::executor_type>;

void with_a_callback(meeting& ex, buffer full, std::stop_token stop, const io_strand& strand) {
#include "docs/asio.md/3"
}

asio::awaitable<void> with_other_tokens(meeting& ex, buffer full, buffer other) {
#include "docs/asio.md/4"
    auto end = later.get(); // throws no error of the exchange: it is in the result, with the item
    static_cast<void>(end);
}

using question = std::string;
using answer = std::vector<char>;
using order = std::vector<std::string>;

asio::awaitable<void> members(tryst::red_blue_exchanger<question, answer>& desk,
                              tryst::synchronous_channel<order>& orders, question mine) {
#include "docs/asio.md/5"
    static_cast<void>(next);
}

void retry(order&&) {}
void keep(answer&&) {}
void file(question&&) {}

void tokens(tryst::red_blue_exchanger<question, answer>& desk,
            tryst::synchronous_channel<order>& orders, answer found, order next,
            const io_strand& strand) {
#include "docs/asio.md/6"
}

void selects(tryst::synchronous_channel<order>& orders, tryst::synchronous_channel<answer>& answers,
             const io_strand& strand) {
    auto done = [](auto got) {
        if (got.index() == 0) {
            retry(*std::move(got).template get<0>());
        }
    };
    tryst::asio::async_wait(tryst::select(orders.receive(), answers.receive(), 5ms),
                            asio::bind_executor(strand, done));
}

tryst::task<> stage(meeting& ex) {
    auto got = co_await ex.exchange(buffer());
}

void run_tasks(meeting& ex) {
#include "docs/asio.md/7"
}

tryst::task<int> collect(meeting& ex, std::stop_token stop) {
    auto got = co_await ex.exchange(buffer(), std::move(stop));
    co_return got ? 1 : 0;
}

asio::awaitable<void> await_task(meeting& ex) {
#include "docs/asio.md/8"
    static_cast<void>(sum);
}

asio::awaitable<void> read_stoppably(asio::ip::tcp::socket& socket, asio::mutable_buffer room,
                                     std::stop_token stop) {
#include "docs/asio.md/9"
    static_cast<void>(count);
}
