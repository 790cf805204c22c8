// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <chrono>
#include <iostream>
#include <stop_token>

using namespace std::chrono_literals;
struct token {};
using bucket = tryst::channel<token>;

tryst::task<> fill(bucket& tokens, std::stop_token stop) {
    bool passed = true;
    while (passed) {
        (void)tokens.try_send(token()); // fails if the bucket is full
        passed = co_await tryst::sleep_for(1ms, stop);
    }
}

tryst::task<> send_requests(bucket& tokens) {
    for (int i = 1; i <= 5; ++i) {
        auto permit = co_await tokens.receive(); // one token for each request
        if (!permit) {
            co_return; // closed
        }
        std::cout << "request " << i << '\n';
    }
}

tryst::task<> run() {
    bucket tokens(2); // up to two requests in a burst, then one for each millisecond
    tryst::task_scope scope;
    scope.spawn(fill(tokens, scope.get_stop_token()));
    co_await send_requests(tokens);
    scope.request_stop();
    co_await scope.join();
}

int main() {
    tryst::run_loop().run(run());
}
