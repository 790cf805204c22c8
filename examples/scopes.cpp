// SPDX-License-Identifier: MIT
// A little server: workers in a scope serve the requests of a channel, a clock ticks beside them,
// and a client waits for each answer for a limited time. At the end everything is stopped and
// joined.
#include <tryst/tryst.hpp>

#include <chrono>
#include <iostream>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;

struct request {
    request(int given, tryst::synchronous_channel<std::string>* to) : number(given), answer(to) {}

    int number;
    tryst::synchronous_channel<std::string>* answer;
};

using requests = tryst::synchronous_channel<request>;

/// Serves requests until it is stopped. Every third request takes very long.
tryst::task<> work(requests& incoming, std::stop_token stop) {
    while (auto got = co_await incoming.receive(stop)) {
        const request asked = *std::move(got);
        if (asked.number % 3 == 0) {
            co_await tryst::sleep_for(24h, stop);
        }
        std::string answer = "answer " + std::to_string(asked.number);
        auto sent = co_await asked.answer->send(std::move(answer), stop);
        if (!sent) {
            co_return;
        }
    }
}

/// Counts until it is stopped.
tryst::task<int> tick(std::stop_token stop) {
    int ticks = 0;
    while (const bool passed = co_await tryst::sleep_for(1ms, stop)) {
        ticks += passed ? 1 : 0;
    }
    co_return ticks;
}

/// The answer, unless it takes too long.
tryst::task<std::optional<std::string>> ask(requests& to, int number,
                                            tryst::synchronous_channel<std::string>& answers) {
    auto sent = co_await to.send(request(number, &answers));
    if (!sent) {
        co_return std::nullopt;
    }
    auto got = co_await tryst::when_any([&](auto stop) { return answers.receive(stop); },
                                        [&](auto stop) { return tryst::sleep_for(1s, stop); });
    auto answer = got.get<0>(); // counts even if the time passed first: nothing is lost
    if (!answer) {
        co_return std::nullopt;
    }
    co_return *std::move(answer);
}

tryst::task<bool> serve() {
    requests incoming;
    tryst::synchronous_channel<std::string> answers;
    tryst::task_scope scope;
    for (int i = 0; i != 3; ++i) {
        scope.spawn(work(incoming, scope.get_stop_token()));
    }
    auto ticks = scope.spawn_future(tick(scope.get_stop_token()));

    for (int number = 1; number != 6; ++number) {
        auto answer = co_await ask(incoming, number, answers);
        std::cout << number << ": " << answer.value_or("no answer in time") << '\n';
    }

    scope.request_stop();
    co_await scope.join();
    const int counted = co_await ticks;
    co_return counted != 0;
}

} // namespace

int main() {
    tryst::run_loop loop;
    const bool ticked = loop.run(serve());
    std::cout << (ticked ? "stopped\n" : "the clock stood still\n");
}
