// SPDX-License-Identifier: MIT
/// @file
/// The steps of an offer in an arena, for a bounded time.
/// Standard library only. Allocates in its constructor; only the constructor throws.
#pragma once

#include <tryst/detail/meet/arena.hpp>
#include <tryst/detail/meet/slot.hpp>
#include <tryst/detail/meet/steps.hpp>
#include <tryst/detail/meet/wait_list.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/trace.hpp>

#include <cstdint>
#include <memory>

namespace tryst::detail {

/* Offers
 * "In the arena" means: in a slot above slot 0, as opposed to the wait list.
 *
 * I2. Only the wait list (slot 0) holds waiters for an unbounded time. Two waiters that stayed in
 *     different slots would miss each other forever. In the arena a thread spins for a bounded
 *     time, as in the paper (swap.hpp). A coroutine must not spin on its loop. Its patience is one
 *     turn of the loop, or a few microseconds if it is alone there (patience.hpp): it posts a
 *     check, which is a node that calls `expire`, and suspends. When the check runs, either a
 *     partner has come, without having to post the waiter, or the offer expires. During that turn
 *     no stop or deadline is in force. A waiter with a stop or a deadline, on an executor, spends
 *     such a turn in the wait list, too, before they come into force (docs/adr/0003). */
template <class Arena, class Observer>
class offers : public steps<Arena, Observer> {
    using base = steps<Arena, Observer>;

public:
    using base::base;

    std::size_t capacity() const noexcept { return arena_.capacity(); }

    /// The number of the highest slot in use now.
    std::size_t spread() const noexcept { return Arena::highest(arena_.bound()); }

    template <class W>
    bool try_match_in_list(W& w) noexcept {
        match_result found{};
        do {
            found = arena_.list().try_match(W::side);
            if (apply_match(w, found)) {
                return true;
            }
        } while (found.kind == match_result::collided);
        return false;
    }

    template <class W>
    bool try_match_all(W& w) noexcept {
        if (try_match_in_list(w)) {
            return true;
        }
        if (!arena_.has_grown()) {
            return false;
        }
        for (std::uint32_t i = 1; i <= arena_.capacity(); ++i) {
            if (match_in_group(w, i).kind == group_visit::matched) {
                return true;
            }
        }
        return false;
    }

    template <class W>
    bool is_in_arena(const W& w) const noexcept {
        return Arena::index_of(w.place) != 0 && !w.state.is_done();
    }

    template <class W>
    bool abandon(W& w, bool limited, bool queued) noexcept {
        if (Arena::index_of(w.place) == 0) {
            return base::abandon(w, limited, queued);
        }
        withdraw(w, outcome::cancelled); // its check was queued: no other party posts the waiter
        return true;
    }

    template <class W>
    void withdraw(W& w, outcome why) noexcept {
        base::withdraw_by(w, [&] {
            return Arena::index_of(w.place) == 0 ? base::withdraw_from_list(w, why)
                                                 : withdraw_from_arena(w, why);
        });
    }

    void close() noexcept {
        base::close([this] {
            for (std::uint32_t i = 0; i != arena_.capacity() * Arena::group_size; ++i) {
                slot& here = arena_.at(1 + i / Arena::group_size, i % Arena::group_size);
                const slot::word seen = here.peek();
                waiter* const q = slot::offered(seen);
                if (q != nullptr && here.claim(seen)) {
                    observer_.ended(*q, outcome::closed);
                    base::complete_in_arena(*q, outcome::closed);
                }
                // A later offer here expires, and its party then finds the wait list closed.
            }
        });
    }

protected:
    using base::arena_;
    using base::observer_;
    ~offers() = default;

    /// The result of `match_in_group`.
    struct group_visit {
        enum kind_type : std::uint8_t {
            matched, ///< The party is completed.
            collided, ///< Other parties were faster to claim each partner.
            vacant, ///< No partner; a slot is empty.
            full, ///< No partner, and no slot is empty.
        };
        kind_type kind;
        std::uint32_t empty_slot = 0;
    };

    /// As `steps::apply_match`. If another party was faster, makes room for one more pair.
    template <class W>
    [[gnu::always_inline]] bool apply_match(W& w, match_result& found,
                                            slot* moving = nullptr) noexcept {
        if (found.kind == match_result::collided) {
            count_collision(arena_.grow());
            return false;
        }
        return base::apply_match(w, found, moving);
    }

    /// Claims a partner in the slots at `index`, if there is one. `moving` is as in `apply_match`.
    template <class W>
    group_visit match_in_group(W& w, std::uint32_t index, slot* moving = nullptr) noexcept {
        group_visit result{group_visit::full};
        bool collided = false;
        for (std::uint32_t i = 0; i != Arena::group_size; ++i) {
            slot& here = arena_.at(index, i);
            const slot::word offer = here.peek();
            waiter* const q = slot::offered(offer);
            if (q == nullptr) {
                if (slot::is_empty(offer) && result.kind == group_visit::full) {
                    result = {group_visit::vacant, i};
                }
            } else if (slot::matches(W::side, offer)) {
                if (here.claim(offer)) {
                    base::swap_in_arena(w, q, moving);
                    return {group_visit::matched};
                }
                collided = true;
            }
        }
        return collided ? group_visit{group_visit::collided} : result;
    }

    /// Offers `w` in `here`, the slot that `w.place` names, if that slot is empty.
    template <class W>
    bool offer(W& w, slot& here) noexcept {
        base::begin_wait(w);
        if (!here.offer(std::addressof(w), W::side)) {
            return false;
        }
        TRYST_TRACE(offer_in_arena, this, std::addressof(w));
        return true;
    }

    /// Ends the bounded offer of `w` in the arena (I2). If `w` is in the wait list, where it may
    /// stay, only checks whether it is complete.
    /// @param move  makes `w` arrive again, in the wait list, and ends the move out of the slot
    ///   that it is given.
    template <class W, class Move>
    arrival expire(W& w, Move move) noexcept {
        if (w.state.is_done()) {
            return arrival::completed;
        }
        if (Arena::index_of(w.place) == 0) {
            return arrival::waiting;
        }
        const signal::view seen = w.state.begin_withdraw();
        if (seen.is_done()) {
            return arrival::completed;
        }
        if (seen.has_failed_to_withdraw()) {
            give_way();
            return arrival::claimed;
        }
        slot& here = slot_of(w); // after the announcement, which keeps the exchanger alive (I5)
        TRYST_TRACE(withdrawing, this, std::addressof(w));
        if (!here.begin_move(std::addressof(w), W::side)) {
            return base::fail_withdraw(w);
        }
        TRYST_TRACE(expiry, this, std::addressof(w));
        observer_.count(counted_event::expiry);
        observer_.count(counted_event::shrinkage, arena_.expired(w.place));
        w.state.reset(); // no stop and no deadline is in force before it waits in the wait list
        return move(here);
    }

    /// The arena's slot of the latest offer of `w`.
    slot& slot_of(const waiter& w) noexcept {
        return arena_.at(Arena::index_of(w.place), Arena::member_of(w.place));
    }

    void count_growth(bool grown) noexcept { observer_.count(counted_event::growth, grown); }
    void count_collision(bool grown) noexcept {
        observer_.count(counted_event::collision);
        count_growth(grown);
    }

private:
    /// Takes `w` out of the arena, if it has not been claimed. No other thread destroys the
    /// exchanger (exchange_operation.hpp).
    template <class W>
    bool withdraw_from_arena(W& w, outcome why) noexcept {
        if (!slot_of(w).withdraw(std::addressof(w), W::side)) {
            return false;
        }
        observer_.ended(w, why);
        return true;
    }

    /// For a thread that looks again and again whether a claimer has completed a waiter: naps at
    /// times, because the claimer may have lost its processor to this thread.
    static void give_way() noexcept {
        if (++per_thread<thread_state>().looks % yields_before_nap == 0) {
            nap();
        }
    }
};

} // namespace tryst::detail
