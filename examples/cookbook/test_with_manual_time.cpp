// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

struct manual_clock {
    const std::chrono::steady_clock::time_point* time;
    auto now() const noexcept { return *time; }
};
using test_loop = tryst::basic_run_loop<manual_clock>;
using jobs = tryst::channel<std::string>;

// What is tested: waits for an hour, then remembers that nothing came.
tryst::task<> work(jobs& queue, std::string& last) {
    auto job = co_await queue.receive(1h);
    last = std::move(job).value_or("nothing");
}

bool test_waits_for_an_hour() {
    std::chrono::steady_clock::time_point time;
    test_loop loop({}, manual_clock{&time});
    jobs queue(1);
    std::string last;
    loop.spawn(work(queue, last));
    loop.run_until_idle(); // returns, because the worker waits

    time += 59min;
    loop.run_until_idle();
    const bool waited = last.empty();

    time += 1min;
    loop.run_until_idle();
    return waited && last == "nothing";
}

int main() {
    std::cout << (test_waits_for_an_hour() ? "passed\n" : "failed\n");
}
