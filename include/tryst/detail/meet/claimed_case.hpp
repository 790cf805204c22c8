// SPDX-License-Identifier: MIT
/// @file
/// The steps of a party that has claimed one of several cases, of a selection or of a set.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/meet/commitment.hpp>
#include <tryst/detail/meet/standing_word.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/statistics.hpp>

namespace tryst::detail {

/// As `commitment::try_commit`, or that of `standing_word`.
inline commitment::commit_result try_commit(waiter& q) noexcept {
    return q.kind == waiter::kind_type::standing ? standing_word::of(q).try_commit(q)
                                                 : commitment::of(q).try_commit(q);
}

/// Waits while its owner registers.
inline void await_registration(waiter& q) noexcept {
    q.kind == waiter::kind_type::standing ? standing_word::of(q).await_open()
                                          : commitment::of(q).await_open();
}

/// After `away`. @returns as `standing_word::hand_back`.
template <class Observer>
bool hand_back(waiter& q, Observer& seen) noexcept {
    seen.ended(q, outcome::not_selected); // before the owner may end it
    const bool done = standing_word::of(q).hand_back(q);
    seen.count(counted_event::wait, !done);
    return done;
}

/// Decides for `q`. Does not wait while its owner registers: then the result is `held`. If it is
/// stale, hands it back; then it must not be touched any more.
/// @param pins  where the exchanger is pinned (I5).
template <class Arena, class Observer>
[[gnu::always_inline]] inline commitment::commit_result decide_for(waiter& q, Arena& pins,
                                                                   Observer& seen) noexcept {
    using enum commitment::commit_result;
    while (true) {
        const auto result = detail::try_commit(q);
        if (result == away) {
            if (detail::hand_back(q, seen)) {
                return stale;
            }
            continue;
        }
        if (result == stale) {
            seen.ended(q, outcome::not_selected);
            q.state.complete(pins); // its owner may be withdrawing it (I5)
        }
        return result;
    }
}

/// Completes it. @returns as `commitment::complete_case`.
inline bool complete_case(waiter& q, outcome how, commitment::commit_result committed) noexcept {
    return q.kind == waiter::kind_type::standing ? standing_word::of(q).complete(q, how, committed)
                                                 : commitment::complete_case(q, how, committed);
}

/// As above for a close, which leaves no other list.
inline bool complete_closed_case(waiter& q, commitment::commit_result committed) noexcept {
    return q.kind == waiter::kind_type::standing
               ? standing_word::of(q).complete(q, outcome::closed, committed)
               : commitment::of(q).complete(q, outcome::closed, committed);
}

} // namespace tryst::detail
