// SPDX-License-Identifier: MIT
/// @file
/// What the protocols of a channel with a buffer and of a future have in common.
/// Standard library only. Allocates where its place does; only the constructor throws.
#pragma once

#include <tryst/detail/meet/buffer_parties.hpp>
#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/detail/meet/steps.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/result.hpp>

#include <cstddef>
#include <utility>

namespace tryst::detail {

/// The members of a protocol whose sections do all: `Derived::meet(w, may_wait)` calls them.
template <class Derived, class Arena, class Observer>
class section_protocol : public steps<Arena, Observer> {
    using base = steps<Arena, Observer>;

public:
    template <class Party, class W>
    static bool begin(W& /*w*/) noexcept {
        return false;
    }

    /// Moves items without a wait. @returns whether `w` is complete.
    template <class Party = coroutine_party, class W>
    bool try_match(W& w) noexcept {
        return derived().meet(w, false) == arrival::completed;
    }
    template <class W>
    bool try_match_in_list(W& w) noexcept {
        return derived().try_match(w);
    }
    template <class W>
    bool try_match_all(W& w) noexcept {
        return derived().try_match(w);
    }

    template <class Party = coroutine_party, class W>
    arrival arrive(W& w, bool /*spread*/) noexcept {
        if constexpr (Observer::traces) {
            // The constructor of a span must not run in a section.
            if (const arrival found = derived().meet(w, false); found != arrival::offered) {
                return found;
            }
            base::begin_wait(w);
        }
        return derived().meet(w, true);
    }

protected:
    ~section_protocol() = default;

    /// What a section calls if `w` waits.
    template <class W>
    auto before_wait(W& w) noexcept {
        return [this, &w]() noexcept { base::begin_wait(w); };
    }

    /// Completes the parties of `now` and of each `next()`, one at a time, because a party that
    /// resumes inline may destroy the frame of the next.
    /// The caller has pinned the exchanger. This ends the pin (I6).
    template <class Next>
    void complete_each(choice now, Next next) noexcept {
        for (; now.more; now = next()) {
            if (complete_chosen(now)) {
                detail::post(*now.party);
            }
        }
        const bool suspended = complete_chosen(now);
        base::arena_.unpin();
        if (suspended) {
            detail::post(*now.party);
        }
    }

    /// Completes a party, if there is one. @returns as `complete_in_arena`.
    bool complete_chosen(const choice& now) noexcept {
        if (now.party == nullptr) {
            return false;
        }
        if (now.how != outcome::exchanged) {
            base::observer_.ended(*now.party, now.how);
        }
        return detail::needs_decision(*now.party)
                   ? detail::complete_case(*now.party, now.how, now.committed)
                   : base::complete_in_list(*now.party, now.how);
    }

private:
    friend Derived;
    template <class... Counters>
    explicit section_protocol(std::size_t capacity, const Counters&... shared)
        : base(capacity, shared...) {}

    Derived& derived() noexcept { return static_cast<Derived&>(*this); }
};

template <class Rules>
class item_buffer;

/// One side of a channel with a buffer, or of a future.
/// @tparam Waiter  a sender or a receiver (buffer_parties.hpp).
/// @tparam Place   where it waits.
template <class Rules, class Waiter, class Place = item_buffer<Rules>>
struct buffer_side {
    using own = typename Waiter::own_type;
    using protocol = detail::protocol<Place, typename Rules::observer>;
    using observer = typename Rules::observer;
    using waiter = Waiter;
    using result = typename Waiter::result_type;

    static result result_of(waiter& w) noexcept {
        if (w.result == outcome::exchanged) {
            return result(w.taken());
        }
        const auto error = static_cast<exchange_errc>(w.result);
        if constexpr (Waiter::side == colour::red) {
            return result(error, std::move(w.own()));
        } else {
            return result(error, nothing());
        }
    }
};

} // namespace tryst::detail
