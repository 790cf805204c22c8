// SPDX-License-Identifier: MIT
// A task on an event base hands requests to threads, which block, and prints their answers.
#include <tryst/libevent.hpp>
#include <tryst/tryst.hpp>

#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

using namespace std::chrono_literals;
using numbers = tryst::synchronous_channel<int>;

void square(numbers& from, numbers& to) {
    while (const auto number = tryst::sync_wait(from.receive())) {
        if (!tryst::sync_wait(to.send(*number * *number))) {
            return;
        }
    }
}

tryst::task<> ask(numbers& requests, numbers& answers, event_base* base) {
    for (int number = 1; number != 4; ++number) {
        const auto sent = co_await requests.send(number);
        const auto answer = co_await answers.receive(10s); // the base serves the deadline
        if (!sent || !answer) {
            break;
        }
        std::printf("%d\n", *answer);
    }
    requests.close();
    answers.close();
    event_base_loopbreak(base);
}

int main() {
    const std::unique_ptr<event_base, void (*)(event_base*)> base(event_base_new(),
                                                                  event_base_free);
    numbers requests;
    numbers answers;
    const std::jthread first([&] { square(requests, answers); });
    const std::jthread second([&] { square(requests, answers); });
    tryst::libevent::executor executor(base.get());
    executor.spawn(ask(requests, answers, base.get()));
    event_base_dispatch(base.get());
}
