// SPDX-License-Identifier: MIT
// What docs/concepts.md shows, within a program.
#include <tryst/tryst.hpp>

#include <system_error>
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

using parcel = buffer;

[[maybe_unused]] parcel swap_twice(tryst::exchanger<parcel>& ex) {
    auto retry = [&](std::error_code, parcel mine) { return ex.try_exchange(std::move(mine)); };
    auto theirs = ex.try_exchange(parcel()).or_else(retry).value_or(parcel());
    return theirs;
}
