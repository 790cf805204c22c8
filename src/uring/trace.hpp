// SPDX-License-Identifier: MIT
/// @file
/// The steps of a context, beside those of the protocol, for tests that must know that they were taken.
/// Nothing at all, unless a test defines TRYST_TRACE(step).
#pragma once

#include <tryst/detail/platform/trace.hpp>

#include <cstdint>

namespace tryst::uring::detail {

enum class step : std::uint8_t {
    call_due =
        16, ///< A poster must call the owner, and has not yet. (Not before detail::step's end.)
    call_by_message, ///< It does so from its own ring,
    call_by_eventfd, ///< or by the owner's eventfd,
    failed_message, ///< or so, because the message was refused.
    own_wake, ///< An owner woke by itself,
    owed_call, ///< when a poster had seen it sleep.
    owed_sleep, ///< It sleeps again before that call has come.
    owed_rest, ///< It leaves `run`, and has to wait for that call.
    late_cancellation, ///< An operation ended with a result, though it should have been cancelled.
    late_stop, ///< A stop was posted, and its operation was over when it came.
    retracted_stop, ///< A stop was posted, and its operation's frame is destroyed before it comes.
    set_aside, ///< An operation was taken back because the loop was left.
    call_in_vain, ///< Never: the owner did not wait for its call, and is gone.
    undue_call, ///< Never: nobody was to call.
};

} // namespace tryst::uring::detail
