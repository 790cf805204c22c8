// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <utility>

using namespace std::chrono_literals;

tryst::task<> trade(tryst::exchanger<std::string>& market, std::string goods) {
    auto got = co_await market.exchange(std::move(goods), 10ms);
    if (got) {
        std::cout << "swapped for " << *got << '\n';
    } else {
        std::cout << got.error().message() << '\n';
        goods = std::move(got).returned();
        std::cout << "still have " << goods << '\n';
    }
}

int main() {
    tryst::run_loop loop;
    tryst::exchanger<std::string> market; // where nobody else comes
    loop.run(trade(market, "tea"));
}
