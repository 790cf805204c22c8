// SPDX-License-Identifier: MIT
/// @file
/// The names of the steps of the protocol, to be printed and read.
#pragma once

#include <tryst/detail/platform/trace.hpp>

#include <iterator>
#include <string_view>

namespace tryst::test {

/// As detail::step.
inline constexpr std::string_view step_names[] = {"claim_in_wait_list",
                                                  "claim_in_arena",
                                                  "completion_in_place",
                                                  "offer_in_arena",
                                                  "another_turn",
                                                  "expiry",
                                                  "growth",
                                                  "shrinkage",
                                                  "stop",
                                                  "late_stop",
                                                  "own_stop",
                                                  "pinned",
                                                  "withdrawing",
                                                  "completing",
                                                  "vacancy",
                                                  "refill",
                                                  "disowning",
                                                  "ticket",
                                                  "passing_over",
                                                  "recycling",
                                                  "sweeping",
                                                  "commit",
                                                  "stale_claim",
                                                  "held_selection",
                                                  "wait_start",
                                                  "wait_end"};
static_assert(std::size(step_names) == detail::step_count);

} // namespace tryst::test
