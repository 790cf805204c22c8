// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;
using stand = tryst::synchronous_channel<std::string>;

tryst::task<> travel(stand& taxis, stand& buses) {
    auto got = co_await tryst::select(taxis.receive(), buses.receive(), 1min);
    if (!got) {
        std::cout << "walk: " << got.error().message() << '\n';
    } else if (got.index() == 0) {
        std::cout << "by taxi with " << *got.get<0>() << '\n';
    } else {
        std::cout << "by bus with " << *got.get<1>() << '\n';
    }
}

tryst::task<> drive(stand& to, std::string driver) {
    auto sent = co_await to.send(std::move(driver));
    if (!sent) {
        std::cout << sent.returned() << " has no passenger\n";
    }
}

int main() {
    tryst::run_loop loop;
    stand taxis;
    stand buses;
    loop.spawn(travel(taxis, buses));
    loop.spawn(drive(buses, "ann"));
    loop.spawn(drive(taxis, "ben")); // too late: the passenger has left
    loop.run_until_idle();
    taxis.close();
    loop.run_until_idle();
}
