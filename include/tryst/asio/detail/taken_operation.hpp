// SPDX-License-Identifier: MIT
/// @file
/// An exchange or a selection that has not begun, in a form that can be moved.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#include <tryst/detail/meet/wait_limits.hpp>
#include <tryst/exchange_operation.hpp>

#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/// What an exchanger's or a channel's member functions return, and `select`.
template <class Operation>
concept awaitable_operation =
    !std::is_const_v<std::remove_reference_t<Operation>> &&
    requires(Operation& operation) { tryst::detail::operation_access::of(operation); };

template <class Operation>
using core_of = std::remove_reference_t<decltype(tryst::detail::operation_access::of(
    std::declval<Operation&>()))>;

/// Always false. The compiler quotes the template arguments in its error.
template <class Argument>
constexpr bool not_an_operation = false;

/// Takes the items and the limits out of an operation, which is not movable, so that another
/// operation can begin with them later and elsewhere. Copyable if the items are, as lazy tokens may
/// require; not for `select_from`.
template <class Core>
class taken_operation {
    struct no_token {};
    using limits = typename Core::limits_type;
    using token = std::conditional_t<limits::stoppable, typename limits::token, no_token>;

public:
    using core = Core;

    explicit taken_operation(Core& from) noexcept
        : proposal_(from.take_proposal()), time_(from.time_given()), token_(take_token(from)) {}

    /// Makes the operation. Call it once.
    Core make() noexcept {
        if constexpr (limits::stoppable) {
            return Core(std::move(proposal_), time_, std::move(token_));
        } else {
            return Core(std::move(proposal_), time_);
        }
    }

private:
    static token take_token([[maybe_unused]] Core& from) noexcept {
        if constexpr (limits::stoppable) {
            return from.take_token();
        } else {
            return {};
        }
    }

    typename Core::proposal proposal_;
    tryst::detail::given_time<limits::timed> time_;
    [[no_unique_address]] token token_;
};

/// Refers to an operation that outlives the wait.
template <class Core>
struct referred_operation {
    using core = Core;
    Core& make() const noexcept { return operation; }
    Core& operation;
};

/// Takes over an operation that is given as an rvalue.
template <awaitable_operation Operation>
taken_operation<core_of<Operation>> take(Operation& operation) noexcept {
    return taken_operation<core_of<Operation>>(tryst::detail::operation_access::of(operation));
}

} // namespace detail
TRYST_ASIO_END
