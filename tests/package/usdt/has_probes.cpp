// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#ifndef TRYST_USDT
#error "the target has no probes"
#endif
