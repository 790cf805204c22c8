// SPDX-License-Identifier: MIT
/// @file
/// The wait list of an exchanger without colours: one slot.
/// Standard library only. Never allocates, blocks or throws.
#pragma once

#include <tryst/detail/meet/slot.hpp>
#include <tryst/detail/meet/wait_list.hpp>

namespace tryst::detail {

/// One slot is enough: any two parties match, so two never need to wait at the same time (I3).
class single_slot : public slot {
public:
    static constexpr bool withdraws_in_one_step = true;

    match_result try_match(colour /*own*/) noexcept {
        const word seen = peek();
        if (is_empty(seen)) {
            return {match_result::empty};
        }
        if (slot::is_closed(seen)) {
            static_cast<void>(is_closed()); // acquires everything before the close
            return {match_result::closed};
        }
        if (!claim(seen)) {
            return {match_result::collided};
        }
        return {match_result::partner, slot::offered(seen)};
    }

    template <class BeforeOffer = nothing_before_offer>
    match_result enqueue_or_match(waiter& w, colour own, BeforeOffer before_offer = {}) noexcept {
        before_offer();
        return {offer(&w, own) ? match_result::offered : match_result::empty};
    }

    using slot::withdraw;
    bool withdraw(waiter& w, colour own) noexcept { return slot::withdraw(&w, own); }

    template <class Take, class Complete>
    waiter* close(Take take, Complete /*complete*/) noexcept {
        waiter* const claimed = slot::close();
        return claimed != nullptr && take(*claimed) ? claimed : nullptr;
    }
};

} // namespace tryst::detail
