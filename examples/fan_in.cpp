// SPDX-License-Identifier: MIT
// Two producers, each with a channel of its own, and one consumer that takes whichever line comes
// first. When the producers are done, the program says goodbye to the consumer, and gets an answer.
// The program has the form of an example in Rob Pike's talk "Go Concurrency Patterns" (2012).
#include <tryst/tryst.hpp>

#include <iostream>
#include <string>
#include <thread>
#include <utility>

namespace {

using lines = tryst::synchronous_channel<std::string>;
using goodbye = tryst::exchanger<std::string>;

tryst::task<> produce(lines& to, std::string name) {
    for (int i = 1; i <= 3; ++i) {
        auto sent = co_await to.send(name + ' ' + std::to_string(i));
        if (!sent) {
            co_return; // closed
        }
    }
}

tryst::task<> consume(lines& ann, lines& joe, goodbye& quit) {
    while (true) {
        auto got = co_await tryst::select(ann.receive(), joe.receive(), quit.exchange("see you"));
        switch (got.index()) {
        case 0:
            std::cout << *got.get<0>() << '\n';
            break;
        case 1:
            std::cout << *got.get<1>() << '\n';
            break;
        default:
            std::cout << "main: " << *got.get<2>() << '\n';
            co_return;
        }
    }
}

} // namespace

int main() {
    lines ann;
    lines joe;
    goodbye quit;
    std::jthread consumer([&] { tryst::sync_wait(consume(ann, joe, quit)); });
    {
        const std::jthread first([&] { tryst::sync_wait(produce(ann, "ann")); });
        const std::jthread second([&] { tryst::sync_wait(produce(joe, "joe")); });
    }
    const auto answer = tryst::sync_wait(quit.exchange("goodbye"));
    consumer.join();
    std::cout << "consumer: " << *answer << '\n';
}
