// SPDX-License-Identifier: MIT
// What docs/tasks.md shows.
#include <tryst/tryst.hpp>

#include <chrono>
#include <iostream>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>

using namespace std::chrono_literals;

namespace {

tryst::task<int> answer() {
    co_return 42;
}

void run_one() {
    tryst::run_loop loop;
    int got = loop.run(answer()); // also runs all other tasks of the loop meanwhile
    std::cout << got << '\n';
}

tryst::task<> serve(tryst::exchanger<int>& ex, std::stop_token stop) {
    auto got = co_await ex.exchange(1, stop);
    std::cout << (got ? "swapped\n" : "stopped\n");
}

tryst::task<> run_workers(tryst::exchanger<int>& ex) {
    tryst::task_scope scope; // on the executor of this task
    scope.spawn(serve(ex, scope.get_stop_token()));
    auto handle = scope.spawn_future(answer());
    std::cout << co_await handle << '\n'; // or throws what the work threw
    scope.request_stop();
    co_await scope.join();
}

tryst::task<> tick(std::stop_token stop) {
    while (const bool passed = co_await tryst::sleep_for(10ms, stop)) {
        std::cout << "tick " << passed << '\n';
    }
}

tryst::task<> both(tryst::exchanger<std::string>& ex) {
    auto one = ex.exchange("one"); // an operation cannot be moved: pass it by name
    auto two = ex.exchange("two");
    auto [a, b, c] = co_await tryst::when_all(one, two, answer());
    std::cout << *a << ' ' << *b << ' ' << c << '\n';
}

tryst::task<std::string> compute(tryst::inplace_stop_token stop) {
    const bool done = co_await tryst::sleep_for(1h, stop);
    co_return done ? "computed" : "nothing yet";
}

tryst::task<std::string> receive_or_compute(tryst::synchronous_channel<std::string>& in) {
    auto got = co_await tryst::when_any([&](auto stop) { return in.receive(stop); },
                                        [&](auto stop) { return compute(stop); }, 5ms);
    auto item = got.get<0>(); // look here even if something else ended first
    co_return item ? *std::move(item) : got.get<1>();
}

} // namespace

int main() {
    run_one();
    tryst::exchanger<int> ex;
    tryst::sync_wait(run_workers(ex));
    std::stop_source stop;
    stop.request_stop();
    tryst::sync_wait(tick(stop.get_token()));
    tryst::exchanger<std::string> texts;
    tryst::sync_wait(both(texts));
    tryst::synchronous_channel<std::string> in;
    std::cout << tryst::sync_wait(receive_or_compute(in)) << '\n';
}
