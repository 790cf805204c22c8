// SPDX-License-Identifier: MIT
// What docs/cancellation.md shows, within a program.
#include "context.hpp"

using parcel = std::string;

#include "docs/cancellation.md/1"

#include "docs/cancellation.md/3"

tryst::task<> reader(tryst::exchanger<parcel>& ex, parcel mine) {
#include "docs/cancellation.md/2"
}

int main() {
    tryst::run_loop loop;
    tryst::exchanger<parcel> ex;
    std::stop_source source;
    loop.spawn(give_up(ex, "tea", source.get_token()));
    loop.run_until_idle();
    source.request_stop();
    loop.run_until_idle();
    const parcel kept = tryst::sync_wait(swap_or_keep(ex, "milk"));
    loop.spawn(reader(ex, "coffee"));
    loop.run_until_idle();
    ex.close();
    loop.run_until_idle();
    return kept == "milk" ? 0 : 1;
}
