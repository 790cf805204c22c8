// SPDX-License-Identifier: MIT
// What docs/waiters.md shows, within its first block, which is a program.
#include "context.hpp"

namespace {

tryst::task<int> bring(tryst::exchanger<int>& ex, int mine) {
    auto got = co_await ex.exchange(mine);
    co_return *got;
}

tryst::task<int> sum(tryst::exchanger<int>& ex) {
    auto [a, b] = co_await tryst::when_all(bring(ex, 1), bring(ex, 2));
    co_return a + b;
}

void wait_on_threads(tryst::exchanger<int>& ex) {
#include "docs/waiters.md/2"
    if (theirs != 2 || mine != 1 || three != 3) {
        std::terminate();
    }
}

#include "docs/waiters.md/3"

// Before `main`.
[[maybe_unused]] const bool checked = []() noexcept {
    tryst::exchanger<int> ex;
    wait_on_threads(ex);
    int first = 0;
    int second = 0;
    meet(ex, 1, first);
    meet(ex, 2, second);
    if (first != 2 || second != 1) {
        std::terminate();
    }
    return true;
}();

} // namespace

#include "docs/waiters.md/1"
