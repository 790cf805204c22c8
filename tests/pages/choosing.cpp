// SPDX-License-Identifier: MIT
// What docs/choosing.md shows, within a program.
#include <tryst/tryst.hpp>

#include <stop_token>
#include <string>
#include <utility>
#include <vector>

struct empty_buffer {
    std::vector<char> room;
};
struct full_buffer {
    std::vector<char> bytes;
};
using request = std::string;

void handle(const request&) {}

tryst::task<> reader(tryst::red_blue_exchanger<empty_buffer, full_buffer>& ex, empty_buffer mine) {
    auto got = co_await ex.red(std::move(mine)); // exchange_result<full_buffer, empty_buffer>
    if (!got) {
        mine = std::move(got).returned();
    }
}

tryst::task<> writer(tryst::red_blue_exchanger<empty_buffer, full_buffer>& ex, full_buffer mine) {
    auto got = co_await ex.blue(std::move(mine)); // exchange_result<empty_buffer, full_buffer>
    if (!got) {
        mine = std::move(got).returned();
    }
}

tryst::task<> client(tryst::synchronous_channel<request>& channel, request mine) {
    auto sent = co_await channel.send(std::move(mine)); // exchange_result<void, request>
    if (!sent) {
        mine = std::move(sent).returned(); // no receiver has it, and none will get it
    }
}

tryst::task<> server(tryst::synchronous_channel<request>& channel, std::stop_token stop) {
    while (auto got = co_await channel.receive(stop)) { // exchange_result<request, void>
        handle(*std::move(got));
    }
}

using free_buffers = tryst::synchronous_channel<empty_buffer, tryst::order::lifo>;

tryst::task<> take(free_buffers& from) {
    static_cast<void>(co_await from.receive());
}
