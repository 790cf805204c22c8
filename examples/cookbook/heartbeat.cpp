// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <utility>

using namespace std::chrono_literals;
using lines = tryst::synchronous_channel<std::string>;

tryst::task<> talk(lines& messages, lines& wire) {
    while (!messages.is_closed()) {
        auto next = co_await messages.receive(5ms);
        auto sent = co_await wire.send(std::move(next).value_or("ping"));
        if (!sent) {
            break;
        }
    }
    wire.close();
}

tryst::task<> listen(lines& wire) {
    while (auto got = co_await wire.receive(1min)) { // much longer than between two pings
        if (*got != "ping") {
            std::cout << *got << '\n';
        }
    }
    std::cout << "closed, or silent for a minute\n";
}

tryst::task<> speak(lines& messages) {
    co_await tryst::sleep_for(20ms); // a few pings meanwhile
    auto sent = co_await messages.send("hello");
    if (!sent) {
        std::cout << "not sent: " << sent.returned() << '\n';
    }
    messages.close();
}

int main() {
    lines messages;
    lines wire;
    tryst::run_loop loop;
    loop.run(tryst::when_all(talk(messages, wire), listen(wire), speak(messages)));
}
