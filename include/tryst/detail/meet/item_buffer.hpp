// SPDX-License-Identifier: MIT
/// @file
/// The state of a channel with a buffer: its items, its waiting parties, and the sections that
/// change them.
/// Standard library only. Never throws; allocates only in its constructor and in `grow`.
#pragma once

#include <tryst/detail/meet/arena.hpp>
#include <tryst/detail/meet/buffer_parties.hpp>
#include <tryst/detail/meet/claimed_case.hpp>
#include <tryst/detail/meet/commitment.hpp>
#include <tryst/detail/meet/item_queue.hpp>
#include <tryst/detail/meet/section_lock.hpp>
#include <tryst/detail/meet/standing_word.hpp>
#include <tryst/detail/meet/steps.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/linked_list.hpp>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace tryst::detail {

/* The buffer
 * The items, and the two lists of waiting parties, under one lock. Why not cells with three cursors
 * (Koval, Alistarh and Elizarov, 2023, section 4): docs/adr/0019.
 *
 * I51. At rest, no sender waits while the first waiting one has room, no receiver waits while there
 *      is an item, and nobody waits in a closed channel. Each section that makes room admits
 *      senders, or its caller calls `admit` until there is nothing to do.
 *
 * I52. The lists and the items are touched only under the lock. A waiter in a list belongs to the
 *      lock's holder; one that has been taken out belongs to the party that took it out, as after a
 *      claim (I1). That party completes it after the section.
 *
 * I53. A party that finds a waiter of a selection commits to it under the lock (I41), and takes it
 *      out and moves items only then. If the selection is held, it leaves the section before it
 *      waits (I42). If the waiter is stale, it takes it out and hands it back (I41) in the section,
 *      because the channel may end before the owner withdraws the waiter.
 *
 * I54. Senders are admitted in the order in which they came: no arrival passes a sender that waits,
 *      even if there would be room for its item. */
template <class Rules>
class item_buffer {
    using item = typename Rules::item;
    using observer = typename Rules::observer;
    using sender = detail::sender<Rules>;
    using receiver = detail::receiver<Rules>;

public:
    static constexpr bool is_shared = Rules::lock::is_shared;
    static constexpr bool withdraws_in_one_step = !is_shared && !Rules::weighs;

    /// Whether others may have room when a `W` withdraws: lighter items behind it.
    template <class W>
    static constexpr bool leave_admits = Rules::weighs && W::side == colour::red;

    struct entry {
        explicit entry(item& from, typename Rules::weight of_it) noexcept
            : value(std::move(from)), weight(of_it) {}
        item value;
        [[no_unique_address]] typename Rules::weight weight;
    };
    using items = item_queue<entry>;

    /// Call once, before the channel is used.
    /// @throws std::bad_alloc.
    void open(std::size_t limit, basic_arena<item_buffer>& in) {
        limit_ = limit;
        has_buffer_ = limit != 0;
        arena_ = &in;
        // So that a small buffer never allocates later: its items may be in two blocks.
        for (int i = 0; limit != 0 && i != 2; ++i) {
            if (!grow()) {
                throw std::bad_alloc();
            }
        }
        disown(); // another thread may be the user
    }

    bool is_closed() const noexcept {
        const section here(lock_);
        return closed_;
    }

    std::size_t limit() const noexcept {
        const section here(lock_);
        return limit_;
    }

    void set_limit(std::size_t limit) noexcept {
        const section here(lock_);
        limit_ = limit;
    }

    std::size_t size() const noexcept {
        const section here(lock_);
        return items_.size();
    }

    /// Makes places for more items.
    /// @returns false if there is no memory.
    bool grow() noexcept {
        auto* const made = items::make_block();
        if (made != nullptr) {
            const section here(lock_);
            items_.add_block(*made);
        }
        return made != nullptr;
    }

    /// The steps of a party that brings or takes one item, if they concern no other party: moves
    /// the item, or waits. Most operations end here. Under a lock, does nothing in a channel that
    /// was made with the limit 0: unless the limit has risen, each item there needs two parties.
    /// @param before_wait  is called if the party waits, in the section.
    /// @returns as `meet`; `unfinished` if the caller must call that.
    template <class W, class BeforeWait>
    [[gnu::always_inline]] progress meet_alone(W& w, bool may_wait, observer& seen,
                                               BeforeWait before_wait) noexcept {
        if (W::is_batch || (is_shared && !has_buffer_)) {
            return progress::unfinished;
        }
        const section here(lock_);
        if (can_move(w)) {
            if constexpr (W::side == colour::red) {
                seen.entered(w, true);
                enter(w);
            } else {
                take_front(w, seen);
            }
            return progress::completed;
        }
        if (!can_only_wait(w)) {
            return progress::unfinished;
        }
        return may_wait ? wait(w, before_wait) : progress::no_partner;
    }

    /// Hands the items of `w` to waiting receivers, or puts them into the buffer.
    /// @param partner  is set to a party that must be completed, if there is one.
    /// @param pinned   whether the caller has pinned the channel. Set if the section does so.
    template <class W, class BeforeWait>
        requires(W::side == colour::red)
    progress meet(W& w, bool may_wait, choice& partner, bool& pinned, observer& seen,
                  BeforeWait before_wait) noexcept {
        const section here(lock_);
        for (std::size_t moved = 0; w.left != 0; ++moved) {
            if (closed_) {
                return progress::closed;
            }
            if (moved == items_per_section) {
                return end(progress::unfinished, partner, pinned);
            }
            if (receiver* const q = receivers_.front(); q != nullptr) {
                const auto committed = decide(receivers_, *q, seen);
                if (committed == commit_result::held) {
                    return yield(w, *q);
                }
                if (committed == commit_result::stale) {
                    continue;
                }
                take_out(receivers_, *q);
                for (bool first = true; w.left != 0 && q->left != 0 && moved != items_per_section;
                     ++moved, first = false) {
                    seen.paired(w, w.left == 1);
                    seen.count(counted_event::wait, !first);
                    q->take(*w.next);
                    w.advance();
                }
                seen.waited(*q);
                partner = {q, outcome::exchanged, committed};
                return end(w.left == 0 ? progress::completed : progress::unfinished, partner,
                           pinned);
            }
            if constexpr (Rules::weighs) {
                release_away(seen);
            }
            if (!senders_.empty() || !fits(w)) {
                return may_wait ? wait(w, before_wait) : progress::no_partner;
            }
            if (!items_.has_place()) {
                return end(progress::no_block, partner, pinned);
            }
            seen.entered(w, w.left == 1);
            enter(w);
        }
        return progress::completed;
    }

    /// Takes items from the buffer, or from waiting senders. `partner` and `pinned` are as above.
    template <class W, class BeforeWait>
        requires(W::side == colour::blue)
    progress meet(W& w, bool may_wait, choice& partner, bool& pinned, observer& seen,
                  BeforeWait before_wait) noexcept {
        const section here(lock_);
        for (std::size_t moved = 0; w.left != 0; ++moved) {
            if (moved == items_per_section) {
                return end(progress::unfinished, partner, pinned);
            }
            if (!items_.empty()) {
                take_front(w, seen);
                continue;
            }
            if (sender* const q = senders_.front(); q != nullptr) {
                const auto committed = decide(senders_, *q, seen);
                if (committed == commit_result::held) {
                    if (w.has_taken()) {
                        break;
                    }
                    return yield(w, *q);
                }
                if (committed == commit_result::stale) {
                    continue;
                }
                seen.paired(w, !w.has_taken());
                seen.count(counted_event::wait, q->left != 1);
                receiver::take_into(w, *q->next);
                q->advance();
                if (q->left == 0) {
                    take_out(senders_, *q);
                    seen.waited(*q);
                    const bool finished = w.left == 0;
                    partner = {q, outcome::exchanged, committed, finished && admits()};
                    return end(finished ? progress::completed : progress::unfinished, partner,
                               pinned);
                }
                continue;
            }
            if (w.has_taken()) {
                break;
            }
            if (closed_) {
                return progress::closed;
            }
            return may_wait ? wait(w, before_wait) : progress::no_partner;
        }
        if (admits()) {
            partner = admit_first(seen);
        }
        return end(progress::completed, partner, pinned);
    }

    /// Admits the first waiting sender, if there is room for it.
    choice admit(observer& seen) noexcept {
        const section here(lock_);
        return admit_first(seen);
    }

    /// Takes out the first waiting sender, for which there is no memory.
    choice refuse(observer& seen) noexcept {
        const section here(lock_);
        choice refused;
        if (admits()) {
            refused = take_out(senders_, outcome::out_of_memory, seen);
            refused.more = refused.more || admits();
        }
        return refused;
    }

    /// Takes `w` out, if it has not been claimed.
    template <class W>
    bool withdraw(W& w, colour /*side*/) noexcept {
        const section here(lock_);
        if (!w.is_linked()) {
            return false;
        }
        list_of(w).remove(w);
        return true;
    }

    void close() noexcept {
        const section here(lock_);
        closed_ = true;
        dismiss(outcome::closed);
    }

    /// Closes, and moves the items out.
    items close_and_take() noexcept {
        const section here(lock_);
        closed_ = true;
        dismiss(outcome::closed);
        inside_ = 0;
        return std::move(items_);
    }

    void cancel_all() noexcept {
        const section here(lock_);
        dismiss(outcome::cancelled);
    }

    void reset() noexcept {
        const section here(lock_);
        closed_ = false;
    }

    bool is_ready() const noexcept {
        const section here(lock_);
        for (const sender* q = senders_.front(); q != nullptr; q = q->following) {
            if (q->kind != waiter::kind_type::standing || !standing_word::of(*q).is_away()) {
                return true;
            }
        }
        return !items_.empty();
    }

    /// Takes out a party that has been dismissed.
    choice take_dismissed(outcome how, observer& seen) noexcept {
        const section here(lock_);
        dismissed& from = dismissed_with(how);
        choice taken = take_out(from.receivers, how, seen);
        if (taken.party == nullptr && !taken.more) {
            taken = take_out(from.senders, how, seen);
        }
        taken.more = taken.more || !from.receivers.empty() || !from.senders.empty();
        return taken;
    }

    void disown() noexcept { lock_.disown(); }

private:
    using commit_result = commitment::commit_result;

    using lock = typename Rules::lock;
    using section = lock_section<lock>;

    /// Parties that a call of `close` or `cancel` is about to complete.
    struct dismissed {
        linked_list<sender> senders;
        linked_list<receiver> receivers;
    };
    dismissed& dismissed_with(outcome how) noexcept {
        return how == outcome::closed ? closing_ : cancelling_;
    }

    linked_queue<sender>& list_of(const sender& /*q*/) noexcept { return senders_; }
    linked_queue<receiver>& list_of(const receiver& /*q*/) noexcept { return receivers_; }

    /// An item that is heavier than the limit has room in an empty buffer.
    bool fits(const sender& q) const noexcept {
        const std::size_t weight = q.weight;
        return limit_ != 0 && (items_.empty() || (inside_ <= limit_ && weight <= limit_ - inside_));
    }

    /// Pins the channel, if the caller uses it after this section (I56). @returns `now`.
    progress end(progress now, const choice& partner, bool& pinned) noexcept {
        // Until the caller has completed the partner, a stop or a deadline may withdraw it.
        const bool may_withdraw =
            partner.party != nullptr && partner.party->kind != waiter::kind_type::unstoppable;
        const bool goes_on = now != progress::completed || partner.more || may_withdraw;
        if (goes_on && !std::exchange(pinned, true)) {
            arena_->pin();
        }
        return now;
    }

    bool admits() const noexcept {
        const sender* const q = senders_.front();
        return q != nullptr && fits(*q);
    }

    /// Whether an arrival can move its item without another party.
    bool can_move(const sender& q) const noexcept {
        return !closed_ && receivers_.empty() && senders_.empty() && fits(q) && items_.has_place();
    }
    bool can_move(const receiver& /*q*/) const noexcept {
        return senders_.empty() && !items_.empty();
    }

    /// Whether an arrival that cannot move its item must wait for another party.
    bool can_only_wait(const sender& q) const noexcept {
        if (Rules::weighs && !senders_.empty() &&
            senders_.front()->kind == waiter::kind_type::standing) {
            return false; // it may be away, and others behind it have room
        }
        return !closed_ && receivers_.empty() && (!senders_.empty() || !fits(q));
    }
    bool can_only_wait(const receiver& /*q*/) const noexcept {
        return !closed_ && senders_.empty();
    }

    template <class W, class BeforeWait>
    progress wait(W& w, BeforeWait before_wait) noexcept {
        before_wait();
        list_of(w).push_back(w);
        return progress::waiting;
    }

    [[gnu::always_inline]] void enter(sender& q) noexcept {
        items_.push(*q.next, q.weight);
        inside_ += q.weight;
        q.advance();
    }

    template <class W>
    [[gnu::always_inline]] void take_front(W& w, observer& seen) noexcept {
        seen.paired(w, !w.has_taken());
        receiver::take_into(w, items_.front().value);
        inside_ -= items_.front().weight;
        items_.pop();
    }

    /// Decides for `q`, the first party in `from`. Takes it out if it is one of several cases,
    /// unless these are held. If it is stale, hands it back; then it must not be touched any more.
    template <class List, class Party>
    commit_result decide(List& from, Party& q, observer& seen) noexcept {
        return detail::needs_decision(q) ? decide_case(from, q, seen) : commit_result::parked;
    }
    template <class List, class Party>
    [[gnu::noinline]] commit_result decide_case(List& from, Party& q, observer& seen) noexcept {
        from.remove(q); // first, because the owner may end a case that was handed back
        const auto result = detail::decide_for(q, *arena_, seen);
        if (result == commit_result::held) {
            from.push_front(q);
        }
        return result;
    }

    /// Hands the first sender back while it is a case whose owner is away, or about to be: it must
    /// not hold up a lighter item.
    void release_away(observer& seen) noexcept {
        sender* q = senders_.front();
        while (q != nullptr && q->kind == waiter::kind_type::standing) {
            senders_.remove(*q);
            if (!detail::hand_back(*q, seen)) {
                senders_.push_front(*q);
                return;
            }
            q = senders_.front();
        }
    }

    template <class List, class Party>
    static void take_out(List& from, Party& q) noexcept {
        if (q.is_linked()) {
            from.remove(q);
        }
    }

    /// Before `w` waits for `q`, whose cases are held.
    template <class W>
    static progress yield([[maybe_unused]] W& w, [[maybe_unused]] const waiter& q) noexcept {
        if constexpr (requires { w.yield_to(q); }) {
            w.yield_to(q);
        }
        return progress::held;
    }

    /// Moves all waiting parties to where their outcome will be `how`. Parties that come later are
    /// not among them, so the caller has an end.
    void dismiss(outcome how) noexcept {
        receivers_.move_to(dismissed_with(how).receivers);
        senders_.move_to(dismissed_with(how).senders);
    }

    /// Takes out the first party that is not stale.
    template <class List>
    choice take_out(List& from, outcome how, observer& seen) noexcept {
        while (auto* const q = from.front()) {
            const auto committed = decide(from, *q, seen);
            if (committed == commit_result::held) {
                return {nullptr, how, committed, true};
            }
            if (committed != commit_result::stale) {
                take_out(from, *q);
                return {q, how, committed};
            }
        }
        return {};
    }

    choice admit_first(observer& seen) noexcept {
        for (std::size_t moved = 0; admits(); ++moved) {
            sender& q = *senders_.front();
            if (!items_.has_place()) {
                return {nullptr, outcome::out_of_memory, commit_result::parked, true};
            }
            if (moved == items_per_section) {
                return {nullptr, outcome::exchanged, commit_result::parked, true};
            }
            const auto committed = decide(senders_, q, seen);
            if (committed == commit_result::held) {
                return {nullptr, outcome::exchanged, committed, true};
            }
            if (committed == commit_result::stale) {
                continue;
            }
            seen.count(counted_event::wait, q.left != 1);
            enter(q);
            if (q.left == 0) {
                take_out(senders_, q);
                seen.waited(q);
                return {&q, outcome::exchanged, committed, admits()};
            }
        }
        return {};
    }

    mutable lock lock_;
    bool closed_ = false;
    bool has_buffer_ = false; ///< Constant from `open` on: no lock is needed.
    std::size_t limit_ = 0;
    std::size_t inside_ = 0; ///< The sum of the weights of the items.
    items items_;
    linked_queue<sender> senders_;
    linked_queue<receiver> receivers_;
    dismissed closing_; ///< By `close`.
    dismissed cancelling_; ///< By `cancel`.
    basic_arena<item_buffer>* arena_ = nullptr; ///< Which this is in.
};

} // namespace tryst::detail
