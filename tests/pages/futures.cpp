// SPDX-License-Identifier: MIT
// What docs/futures.md shows, within a program. Its first block is the program.
#include "context.hpp"

#include <map>

#include "docs/futures.md/1"

namespace {

#include "docs/futures.md/2"

template <class T>
tryst::task<> keep(tryst::task<T> of, T& result) {
    result = co_await std::move(of);
}

// The page's `main` runs its own program only, so this runs before it.
[[maybe_unused]] const bool finds_by_number = [] {
    tryst::run_loop loop;
    replies all;
    std::optional<std::string> one;
    std::optional<std::string> two("none");
    loop.spawn(keep(all.wait_for(1), one));
    loop.spawn(keep(all.wait_for(2), two));
    loop.run_until_idle();
    all.receive(1, "one");
    all.receive(3, "late");
    all.lose();
    loop.run_until_idle();
    if (one != "one" || two) {
        std::abort();
    }
    return true;
}();

} // namespace
