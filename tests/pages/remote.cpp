// SPDX-License-Identifier: MIT
// What docs/remote.md shows, within a program.
#include "context.hpp"

#include <tryst/asio.hpp>
#include <tryst/redis.hpp>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>

namespace redis = tryst::redis;

using question = std::string;
using answer = std::vector<char>;

void open(asio::io_context& io) {
#include "docs/remote.md/2"
}

tryst::task<> use(redis::remote_red_blue_exchanger<question, answer>& desk,
                  redis::remote_channel<std::string>& jobs, std::stop_token stop) {
    question mine{"why?"};
#include "docs/remote.md/3"
    static_cast<void>(reply), static_cast<void>(sent), static_cast<void>(job);
}

asio::awaitable<void> cancellable(redis::remote_exchanger<std::string>& room, std::string item) {
#include "docs/remote.md/6"
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
#include "docs/remote.md/5"
}

using outcome = redis::remote_result<std::string>;
using outcomes = tryst::synchronous_channel<outcome>;

#include "docs/remote.md/7"

tryst::task<> exchange_or_obey(outcomes& results, tryst::synchronous_channel<char>& commands,
                               std::stop_source& stop) {
#include "docs/remote.md/8"
}
