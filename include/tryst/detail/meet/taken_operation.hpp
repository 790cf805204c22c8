// SPDX-License-Identifier: MIT
/// @file
/// An exchange or a selection that has not begun, in a form that can be moved.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/meet/wait_limits.hpp>
#include <tryst/detail/platform/location.hpp>

#include <type_traits>
#include <utility>

namespace tryst::detail {

/// Stands for the stop token of an operation that has none.
struct no_token {};

/// Takes the items and the limits out of an operation, which is not movable, so that another
/// operation can begin with them later and elsewhere. Copyable if the items are, as lazy tokens may
/// require; not for `select_from`.
template <class Core>
class taken_operation {
    using limits = typename Core::limits_type;

public:
    using core = Core;
    using token_type = std::conditional_t<limits::stoppable, typename limits::token, no_token>;

    explicit taken_operation(Core& from, location where = {}) noexcept
        : taken_at(where), proposal_(from.take_proposal()), time_(from.time_given()),
          token_(take_token(from)) {}

    /// Where the party calls the function that takes the operation.
    location taken_at;

    /// The operation's own stop token, moved out.
    token_type&& token() noexcept { return std::move(token_); }

    /// Makes the operation, perhaps with another stop token. Call it once.
    template <class Other = Core, class Token = token_type>
    Other make(Token&& token) noexcept {
        if constexpr (Other::limits_type::stoppable) {
            return Other(std::move(proposal_), time_, std::forward<Token>(token));
        } else {
            return Other(std::move(proposal_), time_);
        }
    }
    Core make() noexcept { return make(token()); }

private:
    static token_type take_token([[maybe_unused]] Core& from) noexcept {
        if constexpr (limits::stoppable) {
            return from.take_token();
        } else {
            return {};
        }
    }

    typename Core::proposal proposal_;
    [[no_unique_address]] given_time<limits::timed> time_;
    [[no_unique_address]] token_type token_;
};

} // namespace tryst::detail
