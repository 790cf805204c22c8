// SPDX-License-Identifier: MIT
// What docs/concepts.md shows, within a program.
#include <tryst/tryst.hpp>

#include <utility>
#include <vector>

using buffer = std::vector<char>;

tryst::task<> stage(tryst::exchanger<buffer>& ex, buffer full) {
    auto got = co_await ex.exchange(std::move(full));
    if (got) {
        full = *std::move(got); // the partner's item
    } else {
        full = std::move(got).returned(); // my own is back; got.error() says why
    }
}

tryst::task<> stages(tryst::exchanger<buffer>& ex, buffer mine) {
    while (auto got = co_await ex.exchange(std::move(mine))) {
        mine = *std::move(got);
    }
}
