// SPDX-License-Identifier: MIT
/// @file
/// What model threads share beside atomics.
#pragma once

#include "model/search.hpp"
#include "model/views.hpp"

#include <cstdint>
#include <source_location>

namespace tryst::model {

using word = std::uint64_t;
using site = std::source_location;

/// Something that model threads share and that is no atomic: a queue, a stop source, the clock.
/// Every use of it is a step.
struct shared_object {
    view held; ///< What its next user may be told.
    std::uint32_t version = 0;
    fingerprint history = 0;
};

} // namespace tryst::model
