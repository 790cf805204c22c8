// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <iostream>

using belt = tryst::channel<int>;

tryst::task<> count(belt& out) {
    for (int i = 1;; ++i) {
        auto sent = co_await out.send(i);
        if (!sent) {
            break; // the stage behind has ended
        }
    }
    std::cout << "count ends\n";
}

tryst::task<> square(belt& in, belt& out) {
    while (auto got = co_await in.receive()) {
        auto sent = co_await out.send(*got * *got);
        if (!sent) {
            break;
        }
    }
    in.close(); // ends the stage before, if it still runs
    out.close(); // ends the stage behind, after it has taken what is inside
    std::cout << "square ends\n";
}

tryst::task<> print(belt& in) {
    while (auto got = co_await in.receive()) {
        std::cout << *got << '\n';
        if (*got >= 16) {
            in.close(); // enough
            break;
        }
    }
}

int main() {
    tryst::run_loop loop;
    belt numbers(8);
    belt squares(8);
    loop.run(tryst::when_all(count(numbers), square(numbers, squares), print(squares)));
}
