// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <iostream>
#include <string>
#include <thread>

using lines = tryst::channel<std::string>;

// Blocks its thread in a library that knows no coroutines, and in `sync_wait`.
void read_sensor(lines& to) {
    for (int i = 1; i <= 3; ++i) {
        std::string measured = "sensor: " + std::to_string(20 + i) + " degrees";
        auto sent = tryst::sync_wait(to.send(std::move(measured)));
        if (!sent) {
            return; // nobody listens any more
        }
    }
    to.close();
}

// Runs on the loop beside other tasks.
tryst::task<> show(lines& from) {
    while (auto line = co_await from.receive()) {
        std::cout << *line << '\n';
    }
}

int main() {
    lines channel(2);
    std::jthread sensor([&] { read_sensor(channel); });
    tryst::run_loop loop;
    loop.run(show(channel));
}
