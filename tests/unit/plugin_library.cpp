// SPDX-License-Identifier: MIT
/// @file
/// A plugin that a program loads at run time. It shares no symbols with a program that exports
/// none.
#include <tryst/detail/run/timer_thread.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/statistics.hpp>

#include <latch>

extern "C" [[gnu::visibility("default")]] void
try_in_plugin(tryst::exchanger<int, tryst::counted>& at, int times) {
    for (int i = 0; i != times; ++i) {
        (void)at.try_exchange(i);
    }
}

extern "C" [[gnu::visibility("default")]] void use_timer_thread_in_plugin() {
    struct due_timer : tryst::timer_node {
        due_timer() {
            fire = [](timer_node* node) noexcept {
                static_cast<due_timer&>(*node).fired.count_down();
            };
        }
        std::latch fired{1};
    } timer;
    auto& thread = tryst::detail::timer_thread::instance();
    thread.arm(&timer);
    timer.fired.wait();
    thread.disarm(&timer);
    static tryst::timer_node never;
    never.deadline = tryst::timer_node::time_point::max();
    thread.arm(&never);
}
