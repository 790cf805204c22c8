// SPDX-License-Identifier: MIT
// What docs/asio.md and docs/adapters.md show, within a program.
#include <tryst/asio.hpp>

#include <asio/awaitable.hpp>
#include <asio/bind_executor.hpp>
#include <asio/buffer.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/strand.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#include <chrono>
#include <future>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

using namespace std::chrono_literals;
using asio::experimental::as_tuple;

using buffer = std::string;
using meeting = tryst::exchanger<buffer>;

asio::awaitable<void> in_an_awaitable(meeting& ex, buffer full) {
    auto got = co_await tryst::asio::wait(ex.exchange(std::move(full)));
}

void keep(buffer&&) {}
void use(buffer&&) {}

using io_strand = asio::strand<asio::io_context::executor_type>;

void with_a_callback(meeting& ex, buffer full, const io_strand& strand) {
    auto done = [](std::error_code error, buffer item) {
        error ? keep(std::move(item)) : use(std::move(item)); // your own back, or the partner's
    };
    tryst::asio::async_exchange_for(ex, std::move(full), 5ms, asio::bind_executor(strand, done));
}

asio::awaitable<void> with_other_tokens(meeting& ex, buffer full, buffer other) {
    auto [error, item] =
        co_await tryst::asio::async_exchange(ex, std::move(full), as_tuple(asio::use_awaitable));
    std::future<buffer> later = tryst::asio::async_exchange(ex, std::move(other), asio::use_future);
    use(later.get());
}

struct question {
    std::string text;
};
struct answer {
    std::string text;
};
struct order {
    std::string goods;
};

asio::awaitable<void> members(tryst::red_blue_exchanger<question, answer>& desk,
                              tryst::synchronous_channel<order>& orders, question mine) {
    auto reply = co_await tryst::asio::wait(desk.red(std::move(mine)));
    auto next = co_await tryst::asio::wait(orders.receive());
    static_cast<void>(next);
}

void retry(order&&) {}
void keep(answer&&) {}
void file(question&&) {}

asio::awaitable<void> tokens(tryst::red_blue_exchanger<question, answer>& desk,
                             tryst::synchronous_channel<order>& orders, question mine,
                             io_strand strand) {
    auto reply = co_await tryst::asio::async_red(desk, std::move(mine), asio::use_awaitable);
    answer found = *std::move(reply);

    auto got = co_await tryst::asio::async_receive(orders, asio::use_awaitable);
    order next = *std::move(got); // an error is thrown, and there is no item to lose then

    auto [error, back] = co_await tryst::asio::async_send_for(orders, std::move(next), 5ms,
                                                              as_tuple(asio::use_awaitable));
    if (error) {
        retry(*std::move(back));
    }

    using outcome = tryst::exchange_result<question, answer>;
    auto done = [](std::error_code failed, outcome end) {
        failed ? keep(std::move(end).returned()) : file(*std::move(end));
    };
    tryst::asio::async_blue(strand, desk, std::move(found), done);
}

tryst::task<> stage(meeting& ex) {
    auto got = co_await ex.exchange(buffer());
}

void run_tasks(meeting& ex) {
    asio::io_context io;
    tryst::asio::task_executor loop(io); // or of a strand, a pool, any executor
    loop.spawn(stage(ex));
    io.run();
}

tryst::task<int> collect(meeting& ex, std::stop_token stop) {
    auto got = co_await ex.exchange(buffer(), std::move(stop));
    co_return got ? 1 : 0;
}

asio::awaitable<void> await_task(meeting& ex) {
    auto work = [&](std::stop_token stop) { return collect(ex, std::move(stop)); };
    int sum = co_await tryst::asio::async_wait(work, asio::use_awaitable);
    static_cast<void>(sum);
}

asio::awaitable<void> read_stoppably(asio::ip::tcp::socket& socket, asio::mutable_buffer room,
                                     std::stop_token stop) {
    auto token = tryst::asio::bind_stop_token(stop, asio::use_awaitable);
    std::size_t count = co_await socket.async_read_some(room, token);
    static_cast<void>(count);
}
