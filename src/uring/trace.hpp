// SPDX-License-Identifier: MIT
/// @file
/// The steps of a context, for tests that check that a step was taken.
/// Does nothing unless a test defines TRYST_TRACE(step).
#pragma once

#include <tryst/detail/platform/trace.hpp>

#include <cstdint>

namespace tryst::uring::detail {

/// The numbers begin after those of tryst::detail::step.
enum class step : std::uint8_t {
    /// A poster must wake the owner, and has not done so yet.
    wake_due = tryst::detail::step_count,
    wake_by_message, ///< The poster sends a message from its own ring.
    wake_by_eventfd, ///< The poster writes to the owner's eventfd.
    refused_message, ///< The kernel refused a message; its sender writes to the eventfd.
    own_wake, ///< A completion other than a wake ended a sleep.
    owed_wake, ///< After `own_wake`: a poster has seen the owner asleep, so a wake will arrive.
    owed_sleep, ///< The owner sleeps again before that wake has arrived.
    owed_quiesce, ///< The owner leaves `run`, and has to wait for that wake.
    late_cancellation, ///< An operation that was to be cancelled ended with a result.
    stop_after_end, ///< A stop was posted, and its operation was over when the node ran.
    retracted_stop, ///< A stop was posted, and its operation's frame is destroyed before it runs.
    set_aside, ///< An operation is cancelled because `run` returns, to start again later.
    wake_in_vain, ///< Must not occur: a wake for an owner that has been destroyed.
    undue_wake, ///< Must not occur: a wake that the owner did not wait for.
};

} // namespace tryst::uring::detail
