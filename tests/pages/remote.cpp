// SPDX-License-Identifier: MIT
// What docs/remote.md shows, within a program.
#include <tryst/asio.hpp>
#include <tryst/redis.hpp>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

using namespace std::chrono_literals;
namespace redis = tryst::redis;

struct question {
    std::string text;
};
struct answer {
    std::string text;
};

template <>
struct redis::codec<question> {
    static std::string encode(const question& item) { return item.text; }
    static question decode(std::string_view bytes) { return {std::string(bytes)}; }
};
template <>
struct redis::codec<answer> {
    static std::string encode(const answer& item) { return item.text; }
    static answer decode(std::string_view bytes) { return {std::string(bytes)}; }
};

void open(asio::io_context& io) {
    redis::connection server(io, redis::options::from_url("redis://app:secret@redis.example"));

    redis::remote_exchanger<std::string> players(server, "players");
    redis::remote_red_blue_exchanger<question, answer> desk(server, "desk");
    redis::remote_channel<std::string> jobs(server, "jobs");
}

tryst::task<> use(redis::remote_red_blue_exchanger<question, answer>& desk,
                  redis::remote_channel<std::string>& jobs, std::stop_token stop) {
    question mine{"why?"};
    auto reply = co_await desk.red(std::move(mine), 5s); // remote_result<answer, question>
    auto sent = co_await jobs.send("resize 17.png"); // remote_result<void, std::string>
    auto job = co_await jobs.receive(1min, stop); // remote_result<std::string, void>
    static_cast<void>(reply), static_cast<void>(sent), static_cast<void>(job);
}

asio::awaitable<void> in_an_awaitable(redis::remote_exchanger<std::string>& room,
                                      std::string item) {
    auto got = co_await tryst::asio::async_wait(room.exchange(item), asio::use_awaitable);
    static_cast<void>(got);
}

asio::awaitable<void> cancellable(redis::remote_exchanger<std::string>& room, std::string item) {
    auto work = [&](std::stop_token stop) { return room.exchange(item, stop); };
    auto got = co_await tryst::asio::async_wait(work, asio::use_awaitable);
    static_cast<void>(got);
}

void on_a_thread(redis::remote_exchanger<std::string>& room) {
    auto got = tryst::sync_wait(room.exchange("tea", 5s));
    static_cast<void>(got);
}

void keep(std::string&&) {}
void use(std::string&&) {}
void ask_the_partner_about(std::string&&) {}

tryst::task<> handle(redis::remote_exchanger<std::string>& room, std::string mine) {
    auto got = co_await room.exchange(std::move(mine), 5s);
    if (got) {
        use(*std::move(got)); // nobody else has it
    } else if (got.error() != tryst::exchange_errc::in_doubt) {
        keep(std::move(got).returned()); // nobody has it, and nobody will
    } else {
        ask_the_partner_about(std::move(got).returned()); // a copy: one partner may have it
    }
}

using outcome = redis::remote_result<std::string>;
using outcomes = tryst::synchronous_channel<outcome>;

tryst::task<> exchange_aside(redis::remote_exchanger<std::string>& room, std::string mine,
                             outcomes& results, std::stop_token stop) {
    auto got = co_await room.exchange(std::move(mine), std::move(stop));
    auto sent = co_await results.send(std::move(got)); // no stop here: the result must arrive
    static_cast<void>(sent);
}

tryst::task<> exchange_or_obey(outcomes& results, tryst::synchronous_channel<char>& commands,
                               std::stop_source& stop) {
    auto first = co_await tryst::select(results.receive(), commands.receive());
    if (first.index() == 1) {
        stop.request_stop();
        auto last = co_await results.receive(); // cancelled, or a partner was faster
        static_cast<void>(last);
    }
}
