// SPDX-License-Identifier: MIT
/// @file
/// tryst's channel with a buffer, for the workloads.
#pragma once

#include "ledger.hpp"

#include <tryst/channel.hpp>

#include <cstddef>

namespace tryst::bench {

template <std::size_t Limit, class... Policies>
class buffered : public channel<item, Policies...> {
public:
    buffered() : channel<item, Policies...>(Limit) {}
};

} // namespace tryst::bench
