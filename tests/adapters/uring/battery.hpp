// SPDX-License-Identifier: MIT
/// @file
/// Uses every feature of a context once, for kernels of all ages.
#pragma once

namespace tryst::test {

/// Makes contexts and runs operations of each kind there, with and without partners, deadlines and
/// stops. Fails the test if anything is wrong.
void run_battery();

} // namespace tryst::test
