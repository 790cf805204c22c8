// SPDX-License-Identifier: MIT
/// @file
/// A plugin that a program loads at run time. It shares no symbols with a program that exports
/// none.
#include <tryst/exchanger.hpp>
#include <tryst/statistics.hpp>

extern "C" [[gnu::visibility("default")]] void
try_in_plugin(tryst::exchanger<int, tryst::counted>& at, int times) {
    for (int i = 0; i != times; ++i) {
        (void)at.try_exchange(i);
    }
}
