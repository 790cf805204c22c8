// SPDX-License-Identifier: MIT
// Two services deadlock. Each asks the other for a buffer before it answers the other's request.
// docs/hangs.md finds the two requests with a debugger.
#include <tryst/tryst.hpp>

#include <iostream>
#include <string>
#include <thread>
#include <utility>

namespace {

using meeting = tryst::exchanger<std::string>;

// Each exchanger is the reception of one service: its clients ask there, and it answers there.
tryst::task<std::string> request(meeting& service, std::string what) {
    auto answer = co_await service.exchange(std::move(what)); // waits-here
    co_return std::move(answer).value_or("closed");
}

// To answer one client, a service needs something of the other service first. That is the mistake.
tryst::task<> serve(std::string name, meeting& own, meeting& other) {
    std::string part = co_await request(other, "a part for " + name); // asks-here
    auto client = co_await own.exchange(std::move(part));
    std::cout << name << " has answered " << std::move(client).value_or("nobody") << '\n';
}

} // namespace

int main() {
    meeting orders;
    meeting stock;
    std::cout << "This program hangs. docs/hangs.md shows how to find out why.\n" << std::flush;
    std::thread shop([&] {
        tryst::run_loop loop;
        loop.run(serve("the shop", orders, stock));
    });
    std::thread warehouse([&] {
        tryst::run_loop loop;
        loop.run(serve("the warehouse", stock, orders));
    });
    shop.join();
    warehouse.join();
}
