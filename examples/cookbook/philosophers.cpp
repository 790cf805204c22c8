// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <chrono>
#include <deque>
#include <iostream>

using namespace std::chrono_literals;
using place = tryst::channel<int>; // of one fork
struct manual_clock {
    inline static std::chrono::steady_clock::time_point time;
    static auto now() noexcept { return time; }
};

tryst::task<> dine(place& first, place& second, int& meals) {
    for (int round = 0; round != 10; ++round) {
        auto held = co_await first.receive();
        co_await tryst::current_executor().schedule(); // the others take their first fork
        auto other = co_await second.receive(1ms);
        if (other) {
            ++meals;
            (void)second.try_send(*other);
        }
        (void)first.try_send(*held);
    }
}

int serve(bool in_order) {
    std::deque<place> forks;
    for (int i = 0; i != 5; ++i) {
        (void)forks.emplace_back(1U).try_send(i);
    }
    int meals = 0;
    tryst::basic_run_loop<manual_clock> loop;
    for (std::size_t i = 0; i != 4; ++i) {
        loop.spawn(dine(forks[i], forks[i + 1], meals));
    }
    loop.spawn(in_order ? dine(forks[0], forks[4], meals) : dine(forks[4], forks[0], meals));
    while (loop.run_until_idle() != 0) {
        manual_clock::time += 1ms;
    }
    return meals;
}

int main() {
    std::cout << serve(false) << " meals, in one order " << serve(true) << '\n';
}
