// SPDX-License-Identifier: MIT
// A party of every kind waits, so that a debugger can look at each when the program calls `look`.
#include "support/bare_coroutine.hpp"
#include <tryst/tryst.hpp>

#include <chrono>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using meeting = tryst::exchanger<int>;
using counted = tryst::exchanger<int, tryst::counted>;
template <tryst::order Order>
using coloured = tryst::red_blue_exchanger<int, long, Order>;
using channel = tryst::synchronous_channel<int>;

tryst::task<> exchange(meeting& at, int item) {
    auto got = co_await at.exchange(item); // exchange
    (void)got;
}

tryst::task<> exchange_or_stop(meeting& at, std::stop_token stop) {
    auto got = co_await at.exchange(0, stop); // exchange-or-stop
    (void)got;
}

tryst::task<> exchange_an_hour(meeting& at) {
    auto got = co_await at.exchange(0, 1h); // exchange-for-an-hour
    (void)got;
}

tryst::task<> one_of_two(meeting& swaps, channel& numbers) {
    auto got = co_await tryst::select(swaps.exchange(0), numbers.receive()); // one-of-two
    (void)got;
}

template <tryst::order Order>
tryst::task<> red(coloured<Order>& at) {
    auto got = co_await at.red(0); // red
    (void)got;
}

template <tryst::order Order>
tryst::task<> blue(coloured<Order>& at) {
    auto got = co_await at.blue(0); // blue
    (void)got;
}

tryst::task<> rest() {
    co_await tryst::sleep_for(1h); // rest
}

tryst::task<> several(meeting& first, meeting& second) {
    co_await tryst::when_all(exchange(first, 1), exchange(second, 2)); // several
}

tryst::task<int> answer(meeting& at) {
    auto got = co_await at.exchange(0); // answer
    co_return std::move(got).value_or(0);
}

tryst::task<> ask(tryst::run_loop& loop, meeting& at) {
    auto work = loop.spawn_future(answer(at));
    const int got = co_await work; // ask
    (void)got;
}

tryst::test::detached_coroutine without_executor(meeting& at) {
    auto got = co_await at.exchange(0); // without-executor
    (void)got;
}

/// Where the debugger stops.
[[gnu::noinline]] void look() {
    asm volatile("");
}

meeting shared;
tryst::run_loop background;

struct rooms {
    meeting first;
    std::unique_ptr<meeting> second = std::make_unique<meeting>();
};

} // namespace

int main() {
    counted threads;
    counted patient_threads;
    meeting lone;
    meeting plain;
    meeting stoppable;
    meeting timed;
    meeting swaps;
    channel numbers;
    coloured<tryst::order::fifo> fifo;
    coloured<tryst::order::lifo> lifo;
    rooms both;
    meeting asked;
    meeting scoped;
    meeting empty;
    meeting closed;
    meeting* const none = nullptr;
    plain.set_name("lobby");
    closed.close();
    std::stop_source source;
    tryst::run_loop loop;
    tryst::run_loop idle;
    tryst::task_scope scope(loop);

    std::thread waits([&] { (void)tryst::sync_wait(threads.exchange(0)); });
    std::thread waits_for_an_hour([&] { (void)tryst::sync_wait(patient_threads.exchange(0, 1h)); });
    without_executor(lone);
    loop.spawn(exchange(plain, 1));
    loop.spawn(exchange_or_stop(stoppable, source.get_token()));
    loop.spawn(exchange_an_hour(timed));
    loop.spawn(one_of_two(swaps, numbers));
    for (int i = 0; i != 70; ++i) { // more than a segment of the wait list
        loop.spawn(red(fifo));
    }
    loop.spawn(blue(lifo));
    loop.spawn(blue(lifo));
    loop.spawn(rest());
    loop.spawn(several(both.first, *both.second));
    loop.spawn(ask(loop, asked));
    scope.spawn(exchange(scoped, 1));
    idle.spawn(exchange(plain, 1));
    background.spawn(exchange(shared, 1));
    background.run_until_idle();
    tryst::task<> kept = rest();
    loop.run_until_idle();
    while (threads.stats().waiting != 1 || patient_threads.stats().waiting != 1) {
        std::this_thread::yield();
    }
    look();
    for (counted* each : {&threads, &patient_threads}) {
        each->close();
    }
    lone.close();
    (void)none;
    waits.join();
    waits_for_an_hour.join();
}
