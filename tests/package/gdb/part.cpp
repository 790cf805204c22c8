// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

tryst::exchanger<int>& door() {
    static tryst::exchanger<int> instance;
    return instance;
}
