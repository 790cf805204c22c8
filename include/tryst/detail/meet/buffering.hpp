// SPDX-License-Identifier: MIT
/// @file
/// How senders and receivers meet in a channel with a buffer.
/// Standard library only. Allocates where its buffer does; only the constructor throws.
#pragma once

#include <tryst/detail/meet/arena.hpp>
#include <tryst/detail/meet/item_buffer.hpp>
#include <tryst/detail/meet/section_protocol.hpp>
#include <tryst/detail/meet/steps.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/trace.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace tryst::detail {

/* Buffering
 * The sections of item_buffer.hpp do all that changes the channel. This file completes, after each
 * section, the party that the section has chosen, and calls the sections again while there is more
 * to do.
 *
 * I55. A party that has moved an item of its own is decided before another party resumes, or is
 *      admitted: admission may wait for a selection that is held (I42.5).
 *
 * I56. A call that uses the channel after a section pins it before or in that section (I6): once
 *      the lock is free, a party that gets an item may destroy the channel. So a party that resumes
 *      inline in such a call must not do that (channel.hpp). */
template <class Rules, class Observer>
class protocol<item_buffer<Rules>, Observer>
    : public section_protocol<protocol<item_buffer<Rules>, Observer>,
                              basic_arena<item_buffer<Rules>>, Observer> {
    using base = section_protocol<protocol, basic_arena<item_buffer<Rules>>, Observer>;
    friend base;

public:
    using items = typename item_buffer<Rules>::items;

    template <class... Counters>
    explicit protocol(std::size_t limit, const Counters&... shared) : base(0, shared...) {
        arena_.list().open(limit, arena_);
    }
    ~protocol() {
        static_cast<void>(close_and_take());
        base::cases().end();
        arena_.drain();
    }

    template <class Party, class W>
    [[gnu::always_inline]] inline bool begin(W& w) noexcept {
        return meet_alone(w, false) == arrival::completed;
    }

    template <class Party = coroutine_party, class W>
    bool try_match(W& w) noexcept {
        return meet(w, false) == arrival::completed;
    }

    std::size_t limit() const noexcept { return arena_.list().limit(); }
    std::size_t size() const noexcept { return arena_.list().size(); }

    void set_limit(std::size_t limit) noexcept {
        arena_.pin();
        arena_.list().set_limit(limit);
        admit();
    }

    void close() noexcept {
        arena_.pin();
        arena_.list().close();
        complete_dismissed(outcome::closed);
    }

    void cancel_all() noexcept {
        arena_.pin();
        arena_.list().cancel_all();
        complete_dismissed(outcome::cancelled);
    }

    void reset() noexcept { arena_.list().reset(); }
    bool is_ready() const noexcept { return arena_.list().is_ready(); }

    /// Call before the destruction, which may happen on any thread.
    void disown() noexcept { arena_.list().disown(); }

    /// Closes, and returns the items that are left.
    items close_and_take() noexcept {
        arena_.pin();
        items left = arena_.list().close_and_take();
        observer_.closed(left.size());
        complete_dismissed(outcome::closed);
        return left;
    }

    /// Admits waiting senders, while there is room. Ends the caller's pin. `steps` calls this after
    /// the withdrawal of a sender that may have held up others.
    void admit() noexcept {
        const auto next = [this] { return next_admission(); };
        base::complete_each(arena_.list().admit(observer_), next);
    }

private:
    using base::arena_;
    using base::before_wait;
    using base::observer_;

    /// The next sender that is admitted or, if there is no memory for its item, refused.
    choice next_admission() noexcept {
        choice next;
        do {
            detail::retry_until([&] {
                next = arena_.list().admit(observer_);
                return next.committed != commitment::commit_result::held;
            });
            if (next.how == outcome::out_of_memory && !arena_.list().grow()) {
                next = arena_.list().refuse(observer_);
            }
        } while (next.party == nullptr && next.more);
        return next;
    }

    /// @returns `completed`; `waiting`; or `offered`, if `w` could only wait and must not.
    template <class W>
    [[gnu::always_inline]] inline arrival meet(W& w, bool may_wait) noexcept {
        const arrival found = meet_alone(w, may_wait);
        return found == arrival::claimed ? meet_others(w, may_wait) : found;
    }

    /// One short section. Inlined, because most operations end here.
    /// @returns as above; `claimed` if there is more to do.
    template <class W>
    [[gnu::always_inline]] inline arrival meet_alone(W& w, bool may_wait) noexcept {
        switch (arena_.list().meet_alone(w, may_wait, observer_, before_wait(w))) {
        case progress::completed:
            base::set_own_outcome(w, outcome::exchanged);
            return arrival::completed;
        case progress::waiting: // `w` must not be touched
            return arrival::waiting;
        case progress::no_partner:
            return arrival::offered;
        default:
            return arrival::claimed;
        }
    }

    template <class W>
    [[gnu::noinline]] arrival meet_others(W& w, bool may_wait) noexcept {
        bool pinned = false;
        while (true) {
            choice partner;
            progress now =
                arena_.list().meet(w, may_wait, partner, pinned, observer_, before_wait(w));
            if (now == progress::held) {
                now = meet_later(w, may_wait, partner, pinned);
            }
            switch (now) {
            case progress::completed:
                if (pinned) {
                    base::set_own_outcome(w, outcome::exchanged); // I55
                    base::complete_each(partner, [this] { return next_admission(); });
                } else {
                    const bool suspended = base::complete_chosen(partner);
                    base::set_own_outcome(w, outcome::exchanged);
                    if (suspended) {
                        detail::post(*partner.party);
                    }
                }
                return arrival::completed;
            case progress::unfinished:
                if (partner.party != nullptr) {
                    if constexpr (W::side == colour::blue) {
                        base::set_own_outcome(w, outcome::exchanged); // I55
                    }
                    if (base::complete_chosen(partner)) {
                        detail::post(*partner.party);
                    }
                }
                continue;
            case progress::no_block:
                if (arena_.list().grow()) {
                    continue;
                }
                base::complete_own(w, outcome::out_of_memory);
                break;
            case progress::closed:
                base::complete_own(w, outcome::closed);
                break;
            case progress::waiting: // `w` must not be touched
            case progress::no_partner:
            case progress::held:
                break;
            }
            if (pinned) {
                arena_.unpin();
            }
            return now == progress::waiting      ? arrival::waiting
                   : now == progress::no_partner ? arrival::offered
                                                 : arrival::completed;
        }
    }

    /// Not inlined, because registrations are short.
    template <class W>
    [[gnu::noinline]] progress meet_later(W& w, bool may_wait, choice& partner,
                                          bool& pinned) noexcept {
        TRYST_TRACE(held_selection);
        progress now = progress::held;
        detail::retry_until([&] {
            now = arena_.list().meet(w, may_wait, partner, pinned, observer_, before_wait(w));
            return now != progress::held;
        });
        return now;
    }

    /// Completes all parties that have been dismissed, and ends the caller's pin.
    void complete_dismissed(outcome how) noexcept {
        const auto next = [this, how] {
            choice dismissed;
            detail::retry_until([&] {
                dismissed = arena_.list().take_dismissed(how, observer_);
                return dismissed.party != nullptr || !dismissed.more;
            });
            return dismissed;
        };
        base::complete_each(next(), next);
    }
};

} // namespace tryst::detail
