// SPDX-License-Identifier: MIT
// What docs/waiters.md shows, within a program.
#include "context.hpp"

#include "docs/waiters.md/1"

tryst::task<int> sum(tryst::exchanger<int>& ex) {
#include "docs/waiters.md/2"
    co_return a + b;
}

void wait_on_threads(tryst::exchanger<int>& ex) {
#include "docs/waiters.md/3"
    if (theirs != 2 || mine != 1 || three != 3) {
        std::terminate();
    }
}

#include "docs/waiters.md/4"

int main() {
    tryst::exchanger<std::string> words;
    two_loops(words);
    tryst::exchanger<int> numbers;
    wait_on_threads(numbers);
    int first = 0;
    int second = 0;
    meet(numbers, 1, first);
    meet(numbers, 2, second);
    return first == 2 && second == 1 ? 0 : 1;
}
