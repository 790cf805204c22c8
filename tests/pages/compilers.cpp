// SPDX-License-Identifier: MIT
// What docs/compilers.md shows.
#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <memory>
#include <stop_token>
#include <string>
#include <utility>

namespace {

struct message {
    int number;
    std::string text;
};
using exchanger = tryst::exchanger<message>;

[[maybe_unused]] tryst::task<> name_the_item(exchanger& ex) {
    message mine{1, "the item has a name"};
    auto got = co_await ex.exchange(std::move(mine));
    static_cast<void>(got);
}

[[maybe_unused]] tryst::task<> name_the_operation(exchanger& ex) {
    auto swap = ex.exchange({2, "the operation has a name"});
    auto got = co_await swap;
    static_cast<void>(got);
}

[[maybe_unused]] tryst::task<> name_the_token(exchanger& ex, std::stop_source& stop, bool hurried) {
    std::stop_token token = hurried ? stop.get_token() : std::stop_token();
    message mine{3, "the stop token has a name"};
    auto got = co_await ex.exchange(std::move(mine), std::move(token));
    static_cast<void>(got);
}

[[maybe_unused]] tryst::task<> offer(exchanger& ex, message mine, std::stop_token stop) {
    auto got = co_await ex.exchange(std::move(mine), std::move(stop));
    static_cast<void>(got);
}

[[maybe_unused]] asio::awaitable<void> name_the_lambda(exchanger& ex, message mine) {
    auto start = [&ex, item = std::move(mine)](std::stop_token stop) mutable {
        return offer(ex, std::move(item), std::move(stop));
    };
    co_await tryst::asio::async_wait(std::move(start), asio::use_awaitable);
}

using item = std::shared_ptr<const int>;

tryst::task<item> swap(tryst::exchanger<item>& ex, item mine) {
    auto got = co_await ex.exchange(std::move(mine));
    co_return *std::move(got);
}

[[maybe_unused]] tryst::task<> carry_an_item(tryst::exchanger<item>& ex, item first) {
    std::shared_ptr<const int> mine = std::move(first);
    while (*mine != 0) {
        auto theirs = co_await swap(ex, std::move(mine)); // a task
        mine = std::move(theirs);
    }
}

} // namespace
