// SPDX-License-Identifier: MIT
// What docs/statistics.md shows, within a program, and some of what it says about the counters.
#include "context.hpp"

#include <source_location>

using buffer = std::string;
using request = int;
using reply = std::string;
using job = int;

#include "docs/statistics.md/1"

namespace {

#include "docs/statistics.md/3"

using lobby = tryst::exchanger<int, tryst::counted>;
using clock = std::chrono::steady_clock;

tryst::task<clock::time_point> wait(lobby& ex) {
    const auto got = co_await ex.exchange(1);
    (void)got;
    co_return clock::now();
}

/// Meets the waiting party, and then keeps the loop busy. Returns when they met.
tryst::task<clock::time_point> compute(lobby& ex, std::chrono::milliseconds length) {
    co_await tryst::current_executor().schedule(); // after the other has begun to wait
    (void)ex.try_exchange(2);
    const auto met = clock::now();
    while (clock::now() < met + length) {
    }
    co_return met;
}

void expect(bool fact, const char* what) {
    if (!fact) {
        std::printf("not so: %s\n", what);
        std::exit(1);
    }
}

/// What it says about an exchanger that is slow.
void check() {
    lobby ex;
    (void)ex.try_exchange(1);
    expect(ex.stats().no_partner == 1, "a try that fails counts as no_partner");

    const auto start = clock::now();
    const auto [resumed, met] = tryst::sync_wait(tryst::when_all(wait(ex), compute(ex, 50ms)));
    expect(resumed - met >= 50ms, "the waiting task resumes after the turn");
    expect(ex.stats().longest_wait <= met - start,
           "for the counters, the wait ends with the match");

    (void)tryst::sync_wait(ex.exchange(1, 1ms));
    expect(ex.stats().timeouts == 1, "a deadline that passes counts as a timeout");
    expect(ex.stats().waiting == 0, "nobody waits any more");
}

} // namespace

int main() {
    check();
#include "docs/statistics.md/2"

    meeting office;
    office.set_name("office");
    (void)tryst::sync_wait(office.exchange(1, 1ms));
    std::fflush(stdout); // before what std::cout prints

    static_cast<void>(first.try_exchange("mine"));
    static_cast<void>(second.try_exchange("mine"));
    static_cast<void>(desk.try_red(1));
    static_cast<void>(jobs.try_receive());
    print(std::cout);
    std::cout << all.stats().no_partner << ' ' << desk.stats().no_partner << ' '
              << jobs.stats().no_partner << '\n';
}
