// SPDX-License-Identifier: MIT
// What docs/cancellation.md shows. Its first block is a program; the others run before its `main`.
#include "context.hpp"

#include "docs/cancellation.md/1"

namespace {

#include "docs/cancellation.md/3"

tryst::task<> reader(tryst::exchanger<std::string>& ex, std::string mine) {
#include "docs/cancellation.md/2"
}

[[maybe_unused]] const bool checked = []() noexcept {
    tryst::run_loop loop;
    tryst::exchanger<std::string> ex;
    const std::string kept = tryst::sync_wait(swap_or_keep(ex, "milk"));
    loop.spawn(reader(ex, "coffee"));
    loop.run_until_idle();
    ex.close();
    loop.run_until_idle();
    if (kept != "milk") {
        std::terminate();
    }
    return true;
}();

} // namespace
