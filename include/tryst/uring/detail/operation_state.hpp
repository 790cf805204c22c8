// SPDX-License-Identifier: MIT
/// @file
/// The states of an operation. The diagram is in detail/operation_base.hpp.
/// Standard library only.
#pragma once

#include <cstdint>

namespace tryst::uring::detail {

enum class operation_state : std::uint8_t {
    created,
    waiting,
    queued,
    in_flight,
    cancel_queued,
    cancelling,
    completed,
    over,
};

/// Whether the diagram has an arrow from one state to the other.
constexpr bool may_follow(operation_state from, operation_state to) noexcept {
    using enum operation_state;
    switch (from) {
    case created:
        return to == waiting || to == queued || to == in_flight || to == over;
    case waiting:
        return to == over;
    case queued:
        return to == in_flight || to == over;
    case in_flight:
        return to == cancel_queued || to == queued || to == over;
    case cancel_queued:
        return to == cancelling || to == queued || to == over;
    case cancelling:
        return to == in_flight || to == completed;
    case completed:
        return to == queued || to == over;
    case over:
        return to == queued;
    }
    return false;
}

/// Whether the kernel has the operation, or still owes an answer about it.
constexpr bool is_in_kernel(operation_state now) noexcept {
    using enum operation_state;
    return now == in_flight || now == cancel_queued || now == cancelling || now == completed;
}

/// Why an operation should end early.
enum class end_reason : std::uint8_t {
    none,
    stop, ///< A stop was requested, its coroutine is destroyed, or its stream is full.
    deadline,
    leaving, ///< `run` returns. The operation starts again when the context runs again.
};

} // namespace tryst::uring::detail
