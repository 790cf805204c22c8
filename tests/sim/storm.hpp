// SPDX-License-Identifier: MIT
/// @file
/// Very many operations that wait at once, and are all ended at once: what does one of them cost?
#pragma once

namespace tryst::sim {

/// Measures storms of 10,000 and of 100,000. @returns whether the cost is linear in their number.
bool run_storms();

} // namespace tryst::sim
