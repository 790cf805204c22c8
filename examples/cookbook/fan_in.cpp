// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <iostream>
#include <string>
#include <utility>

using lines = tryst::channel<std::string>;

tryst::task<> produce(lines& to, std::string name) {
    for (int i = 1; i <= 3; ++i) {
        auto sent = co_await to.send(name + ' ' + std::to_string(i));
        if (!sent) {
            co_return; // the consumer has closed the channel
        }
    }
}

tryst::task<> produce_all(lines& to) {
    tryst::task_scope producers;
    for (std::string name : {"ann", "ben", "cem"}) {
        producers.spawn(produce(to, std::move(name)));
    }
    co_await producers.join();
    to.close(); // when the last one has ended
}

tryst::task<> consume(lines& from) {
    int count = 0;
    while (auto line = co_await from.receive()) {
        ++count;
    }
    std::cout << count << " lines\n";
}

int main() {
    tryst::run_loop loop;
    lines channel(4);
    loop.run(tryst::when_all(produce_all(channel), consume(channel)));
}
