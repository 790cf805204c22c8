// SPDX-License-Identifier: MIT
// A server with a token bucket. Each request takes a token, and a ticker adds one every
// millisecond. While the bucket is empty, the server waits for the ticker only, and requests wait.
#include <tryst/tryst.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <stop_token>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;
using requests = tryst::synchronous_channel<std::string>;
struct tick {};
using ticks = tryst::synchronous_channel<tick>;

constexpr int burst = 2; // the capacity of the bucket

tryst::task<> serve(requests& from, ticks& ticker, std::stop_source end) {
    int tokens = burst;
    while (true) {
        if (tokens == 0) {
            auto more = co_await ticker.receive();
            tokens += more ? 1 : 0;
            continue;
        }
        auto got = co_await tryst::select(from.receive(), ticker.receive());
        if (got.index() == 1) {
            tokens = std::min(tokens + 1, burst);
        } else if (auto request = std::move(got).get<0>()) {
            --tokens;
            std::cout << *request << '\n';
        } else {
            end.request_stop(); // closed
            co_return;
        }
    }
}

/// If the server does not wait for a tick, the tick is dropped, as by Go's ticker.
tryst::task<> run_ticker(ticks& to, std::stop_token stop) {
    for (bool passed = true; passed; passed = co_await tryst::sleep_for(1ms, stop)) {
        auto sent = to.try_send(tick());
        static_cast<void>(sent);
    }
}

tryst::task<> ask(requests& server) {
    for (int i = 1; i <= 6; ++i) {
        auto sent = co_await server.send("request " + std::to_string(i));
        if (!sent) {
            std::cout << "not served: " << sent.returned() << '\n';
        }
    }
    server.close();
}

} // namespace

int main() {
    requests server;
    ticks ticker;
    std::stop_source stop;
    tryst::sync_wait(tryst::when_all(serve(server, ticker, stop),
                                     run_ticker(ticker, stop.get_token()), ask(server)));
}
