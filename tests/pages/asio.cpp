// SPDX-License-Identifier: MIT
// What docs/asio.md and docs/adapters.md show, within a program.
#include <tryst/asio.hpp>

#include <asio/awaitable.hpp>
#include <asio/bind_executor.hpp>
#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/strand.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#include <chrono>
#include <future>
#include <stop_token>
#include <string>
#include <utility>

using namespace std::chrono_literals;

using buffer = std::string;
using meeting = tryst::exchanger<buffer>;

asio::awaitable<void> in_an_awaitable(meeting& ex, buffer full) {
    auto got = co_await tryst::asio::wait(ex.exchange(std::move(full)));
}

void keep(buffer&&) {}
void use(buffer&&) {}

using io_strand = asio::strand<asio::io_context::executor_type>;

void with_a_callback(meeting& ex, buffer full, std::stop_token stop, const io_strand& strand) {
    auto done = [](tryst::exchange_result<buffer> got) {
        got ? use(*std::move(got)) : keep(std::move(got).returned()); // or your own back
    };
    tryst::asio::async_wait(ex.exchange(std::move(full), 5ms, stop),
                            asio::bind_executor(strand, done));
}

asio::awaitable<void> with_other_tokens(meeting& ex, buffer full, buffer other) {
    auto got = co_await tryst::asio::async_wait(ex.exchange(std::move(full)), asio::use_awaitable);
    std::future<tryst::exchange_result<buffer>> later =
        tryst::asio::async_wait(ex.exchange(std::move(other), 5ms), asio::use_future);
    auto end = later.get(); // throws no error of the exchange: it is in the result, with the item
    static_cast<void>(end);
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

void tokens(tryst::red_blue_exchanger<question, answer>& desk,
            tryst::synchronous_channel<order>& orders, answer found, order next,
            const io_strand& strand) {
    auto filed = [](tryst::exchange_result<question, answer> got) {
        got ? file(*std::move(got)) : keep(std::move(got).returned());
    };
    tryst::asio::async_wait(desk.blue(std::move(found)), asio::bind_executor(strand, filed));

    auto sent = [](tryst::exchange_result<void, order> end) {
        if (!end) {
            retry(std::move(end).returned());
        }
    };
    tryst::asio::async_wait(orders.send(std::move(next), 5ms), asio::bind_executor(strand, sent));
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
