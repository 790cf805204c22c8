// SPDX-License-Identifier: MIT
// A worker that serves two queues. While an urgent job waits, it takes no ordinary one.
#include <tryst/tryst.hpp>

#include <functional>
#include <iostream>
#include <string>
#include <utility>

namespace {

using jobs = tryst::synchronous_channel<std::string>;

tryst::task<> work(jobs& urgent, jobs& ordinary, tryst::run_loop& loop) {
    while (true) {
        auto got = co_await tryst::select_biased(urgent.receive(), ordinary.receive());
        auto job = std::move(got).visit(std::identity());
        if (!job) {
            co_return; // closed
        }
        std::cout << *job << '\n';
        co_await loop.schedule(); // other coroutines run, and send more jobs
    }
}

tryst::task<> ask(jobs& to, std::string job) {
    auto sent = co_await to.send(std::move(job));
    if (!sent) {
        std::cout << "not done: " << sent.returned() << '\n';
    }
}

tryst::task<> ask_twice(jobs& urgent, jobs& ordinary) {
    co_await ask(ordinary, "ordinary 1");
    co_await ask(urgent, "urgent 3"); // overtakes the ordinary jobs that wait
}

} // namespace

int main() {
    tryst::run_loop loop;
    jobs urgent;
    jobs ordinary;
    loop.spawn(ask_twice(urgent, ordinary));
    loop.spawn(ask(ordinary, "ordinary 2"));
    loop.spawn(ask(ordinary, "ordinary 3"));
    loop.spawn(ask(urgent, "urgent 1"));
    loop.spawn(ask(urgent, "urgent 2"));
    loop.spawn(work(urgent, ordinary, loop));
    loop.run_until_idle();
    urgent.close(); // the worker waits for both, and finds this one closed
    loop.run_until_idle();
}
