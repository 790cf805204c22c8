// SPDX-License-Identifier: MIT
/// @file
/// One case of a selection that is an exchange. event_case.hpp has the others.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/meet/awaitable_operation.hpp>
#include <tryst/detail/meet/commitment.hpp>
#include <tryst/detail/meet/operation.hpp>
#include <tryst/detail/meet/steps.hpp>
#include <tryst/detail/meet/wait_limits.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/trace.hpp>
#include <tryst/executor.hpp>

#include <concepts>
#include <utility>

namespace tryst::detail {

/// What `case_if` returns: an exchange that has not begun, and whether it takes part.
template <class Side>
struct conditional_case {
    exchange_proposal<Side> made;
    bool enabled;
};

/// One case: an exchange that takes place only if its selection decides for it.
template <class Side>
class selection_case : public Side::waiter {
public:
    using result_type = typename Side::result;
    static constexpr bool is_event = false;
    static constexpr bool is_shared = Side::protocol::is_shared;

    /// Takes the item and the place of an exchange that has not begun.
    explicit selection_case(operation<Side, limits<false>>&& given) noexcept
        : selection_case(&given.where(), given.take_item()) {}
    explicit selection_case(conditional_case<Side>&& given) noexcept
        : selection_case(given.enabled ? given.made.with : nullptr, std::move(given.made.item)) {}

    /// Takes the item and the place of a case that has not begun, or copies them.
    selection_case(selection_case&& other) noexcept
        : selection_case(other.protocol_, std::move(other.own())) {}
    selection_case(const selection_case& other)
        requires(std::copy_constructible<typename Side::own>)
        : selection_case(other.protocol_, typename Side::own(std::as_const(
                                              const_cast<selection_case&>(other).own()))) {}
    selection_case& operator=(const selection_case&) = delete;

    /// Identifies the exchanger; null if the case takes no part.
    const void* where() const noexcept { return protocol_; }

    bool is_closed() const noexcept { return protocol_ != nullptr && protocol_->is_closed(); }

    bool try_match() noexcept {
        return protocol_ != nullptr && protocol_->try_match_in_list(*this);
    }
    bool try_match_all() noexcept {
        return protocol_ != nullptr && protocol_->try_match_all(*this);
    }

    /// The wait of a case begins when its selection waits, unless it was decided before.
    static constexpr bool begins_later = true;

    /// Claims a partner, or goes to the wait list.
    /// @returns whether the case is decided.
    bool enlist() noexcept {
        const bool completed = protocol_->arrive(*this, false) == arrival::completed;
        if (completed) {
            this->at = stage::created;
        }
        return completed;
    }

    /// Begins the wait of a case that is in the wait list, while its selection is held.
    void begin_wait() noexcept {
        if (this->at == stage::registered) {
            protocol_->begin_case(*this);
        }
    }

    /// Leaves the wait list, if the case is there.
    void leave() noexcept {
        if (this->at == stage::offered || this->at == stage::registered) {
            this->at = this->at == stage::offered ? stage::finished : stage::created;
            protocol_->withdraw(*this, outcome::not_selected);
        }
    }

    void show_deadline(clock::time_point when) noexcept {
        Side::observer::show_deadline(*this, when);
    }

    /// Ends the case's wait, on the owner's side. `lost` is as in `take_result`.
    void end_wait(outcome lost) noexcept {
        if (this->at != stage::created) {
            const outcome how = this->result == outcome::pending ? lost : this->result;
            TRYST_TRACE(wait_end, this, static_cast<int>(how));
            Side::observer::end_wait(*this, how);
        }
    }

    /// The protocol calls this when the case takes place by the owner's own step.
    void decide() noexcept { static_cast<commitment*>(this->owner)->decide(*this); }

    /// Moves the result out. Precondition: the selection is over.
    /// @param lost  the outcome if the case did not take place.
    result_type take_result(outcome lost) noexcept {
        if (this->result == outcome::pending) {
            this->result = lost;
        }
        return Side::result_of(*this);
    }

private:
    selection_case(typename Side::protocol* with, typename Side::own&& item) noexcept
        : Side::waiter(std::move(item)), protocol_(with) {
        this->kind = waiter::kind_type::selecting;
    }

    typename Side::protocol* protocol_; ///< Null if the case takes no part.
};

/// What a case is made of: an operation or an event.
template <class Given>
auto& proposed_case(Given& given) noexcept {
    if constexpr (requires { operation_access::of(given); }) {
        return operation_access::of(given);
    } else {
        return given;
    }
}

} // namespace tryst::detail
