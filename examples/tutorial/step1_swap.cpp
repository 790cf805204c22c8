// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <iostream>
#include <string>

tryst::task<> work(tryst::exchanger<std::string>& table, std::string name, std::string mine) {
    auto got = co_await table.exchange(std::move(mine));
    std::cout << name << " gets the " << *got << '\n';
}

int main() {
    tryst::run_loop loop;
    tryst::exchanger<std::string> table;
    loop.spawn(work(table, "Ann", "full crate"));
    loop.spawn(work(table, "Ben", "empty crate"));
    loop.run_until_idle();
}
