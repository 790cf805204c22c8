// SPDX-License-Identifier: MIT
// What docs/channels.md shows, within a program. Its first block is the program.
#include "context.hpp"

#include "docs/channels.md/1"

namespace {

#include "docs/channels.md/2"

#include "docs/channels.md/3"

#include "docs/channels.md/4"

#include "docs/channels.md/5"

void check(bool holds) {
    if (!holds) {
        std::abort();
    }
}

// The first page's `main` runs its own program only, so this runs before it.
[[maybe_unused]] const bool works = [] {
    std::vector<std::string> lost;
    drop_connections(lost);
    check(lost == std::vector<std::string>{"first", "second"});

    jobs from(3);
    jobs to(3);
    for (const char* each : {"a", "b"}) {
        auto sent = from.try_send(each);
        check(static_cast<bool>(sent));
    }
    hand_on(from, to);
    to.close();
    std::vector<std::string> written;
    tryst::run_loop loop;
    loop.run(write_all(to, written));
    check(written == std::vector<std::string>{"a", "b"});

    messages texts(4);
    auto heavy = texts.try_send("heavier");
    auto light = texts.try_send("");
    check(heavy && !light);
    return true;
}();

} // namespace
