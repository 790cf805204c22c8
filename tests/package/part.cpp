// SPDX-License-Identifier: MIT
// A part of the program for gdb and for probes.
#include <tryst/tryst.hpp>

#ifndef TRYST_USDT
#error "the target has no probes"
#endif

tryst::exchanger<int>& door() {
    static tryst::exchanger<int> instance;
    return instance;
}
