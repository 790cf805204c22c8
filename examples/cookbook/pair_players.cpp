// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <iostream>
#include <string>

using lobby = tryst::exchanger<std::string>;

tryst::task<> play(lobby& at, std::string name) {
    auto opponent = co_await at.exchange(name);
    if (opponent) {
        std::cout << name << " plays " << *opponent << '\n';
    } else { // closed
        std::cout << name << " plays the computer\n";
    }
}

int main() {
    tryst::run_loop loop;
    lobby waiting;
    for (const char* name : {"ann", "ben", "cem", "dan", "eve"}) {
        loop.spawn(play(waiting, name));
    }
    loop.run_until_idle();
    waiting.close(); // registration is over
    loop.run_until_idle();
}
