// SPDX-License-Identifier: MIT
// What docs/cancellation.md shows, within a program.
#include <tryst/tryst.hpp>

#include <chrono>
#include <iostream>
#include <stop_token>
#include <string>
#include <utility>

using namespace std::chrono_literals;
using parcel = std::string;

tryst::task<> give_up(tryst::exchanger<parcel>& ex, parcel mine, std::stop_token stop) {
    auto got = co_await ex.exchange(std::move(mine), 50ms, stop);
    if (got) {
        std::cout << "swapped for " << *got << '\n';
    } else if (got.error() == tryst::exchange_errc::timed_out) {
        std::cout << "no partner came; still have " << got.returned() << '\n';
    } else { // cancelled or closed
        std::cout << got.error().message() << "; still have " << got.returned() << '\n';
    }
}

/// A partner if one is there, now; otherwise any party that comes in the next 5 ms.
tryst::task<parcel> swap_or_keep(tryst::exchanger<parcel>& ex, parcel mine) {
    auto now = ex.try_exchange(std::move(mine));
    if (now) {
        co_return *std::move(now);
    }
    auto later = co_await ex.exchange(std::move(now).returned(), 5ms);
    co_return later ? *std::move(later) : std::move(later).returned();
}

tryst::task<> reader(tryst::exchanger<parcel>& ex, parcel mine) {
    while (auto got = co_await ex.exchange(std::move(mine))) {
        mine = *std::move(got);
    }
    // closed: this stage is done, too
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
