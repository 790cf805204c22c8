// SPDX-License-Identifier: MIT
/// @file
/// The cost of each of very many waits that are all ended at once.
#pragma once

namespace tryst::sim {

/// Measures storms of 10,000 and of 100,000. @returns whether the cost is linear in their number.
bool run_storms();

} // namespace tryst::sim
