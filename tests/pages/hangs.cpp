// SPDX-License-Identifier: MIT
// What docs/hangs.md shows, on a loop whose clock stands still between its steps.
#include "context.hpp"

#include <tryst/dump_waiters.hpp>

#include <csignal>

#include <unistd.h>

namespace {

struct utensil {};
using place = tryst::channel<utensil>;

void put_down(utensil fork, place& at) {
    auto sent = at.try_send(fork);
    static_cast<void>(sent);
}

struct job {};

#include "docs/hangs.md/1"

#include "docs/hangs.md/2"

struct stepped_clock {
    static inline std::chrono::steady_clock::time_point time;

    static std::chrono::steady_clock::time_point now() noexcept { return time; }
};

} // namespace

int main() {
    dump_when_asked();
    std::deque<place> forks;
    std::array<int, 5> meals{};
    tryst::basic_run_loop<stepped_clock> loop;
    for (std::size_t i = 0; i != meals.size(); ++i) {
        put_down({}, forks.emplace_back(1U));
    }
    for (std::size_t i = 0; i != meals.size(); ++i) {
        loop.spawn(dine(forks[i], forks[(i + 1) % meals.size()], meals[i]));
    }
    for (int i = 0; i != 100; ++i) {
        loop.run_until_idle();
        stepped_clock::time += 1ms;
    }
    return meals == std::array<int, 5>{} ? 0 : 1; // none has eaten
}
