// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <functional>
#include <iostream>
#include <string>
#include <utility>

using jobs = tryst::channel<std::string>;

tryst::task<> work(jobs& urgent, jobs& ordinary) {
    while (true) {
        auto got = co_await tryst::select_biased(urgent.receive(), ordinary.receive());
        auto job = std::move(got).visit(std::identity());
        if (!job) {
            break; // `ordinary` is closed, and both are empty
        }
        std::cout << *job << '\n';
    }
    urgent.close();
}

tryst::task<> ask(jobs& to, std::string job) {
    auto sent = co_await to.send(std::move(job));
    if (!sent) {
        std::cout << "not done: " << sent.returned() << '\n';
    }
}

tryst::task<> run() {
    jobs urgent(8);
    jobs ordinary(8);
    co_await ask(ordinary, "sweep the floor");
    co_await ask(ordinary, "water the plants");
    co_await ask(urgent, "put out the fire");
    ordinary.close(); // the worker does what is left, and ends
    co_await work(urgent, ordinary);
    co_await ask(urgent, "rescue the cat");
}

int main() {
    tryst::run_loop().run(run());
}
