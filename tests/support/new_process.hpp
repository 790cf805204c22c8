// SPDX-License-Identifier: MIT
/// @file
/// How a death test gets a process: Google Test's `death_test_style`.
#pragma once

namespace tryst::test {

/// This program started anew, without what it has done before. An emulated program cannot start
/// another; it forks.
inline constexpr const char* in_a_new_process =
#ifdef TRYST_TEST_EMULATED
    "fast";
#else
    "threadsafe";
#endif

} // namespace tryst::test
