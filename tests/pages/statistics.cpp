// SPDX-License-Identifier: MIT
// What docs/statistics.md shows, within a program.
#include <tryst/tryst.hpp>

#include <chrono>
#include <iostream>
#include <ostream>
#include <string>

using buffer = std::string;
using request = int;
using reply = std::string;
using job = int;

tryst::exchanger<buffer, tryst::counted> swaps;
tryst::red_blue_exchanger<request, reply, tryst::order::fifo, tryst::counted> desk;
tryst::synchronous_channel<job, tryst::order::lifo, tryst::counted> jobs;

void print(std::ostream& out) {
    const tryst::statistics seen = swaps.stats();
    out << seen.exchanges << " pairs, " << seen.waiting << " waiting, longest wait "
        << std::chrono::duration<double>(seen.longest_wait).count() << " s\n";
}

int main() {
    tryst::counters all; // must outlive the exchangers

    tryst::exchanger<buffer, tryst::counted> first(all);
    tryst::exchanger<buffer, tryst::counted> second(0, all);

    static_cast<void>(first.try_exchange("mine"));
    static_cast<void>(second.try_exchange("mine"));
    static_cast<void>(desk.try_red(1));
    static_cast<void>(jobs.try_receive());
    print(std::cout);
    std::cout << all.stats().no_partner << ' ' << desk.stats().no_partner << ' '
              << jobs.stats().no_partner << '\n';
}
