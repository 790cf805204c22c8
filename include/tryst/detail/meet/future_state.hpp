// SPDX-License-Identifier: MIT
/// @file
/// The state of a future: its item, its waiting party, its promise, and the sections that change
/// them.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/meet/buffer_parties.hpp>
#include <tryst/detail/meet/commitment.hpp>
#include <tryst/detail/meet/section_lock.hpp>
#include <tryst/detail/meet/section_protocol.hpp>
#include <tryst/detail/meet/steps.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace tryst::detail {

/* The promise and its future
 * Each may end, and the promise may move, while another thread uses the other. The future knows the
 * address of its promise, and the promise has one word with the address of its future.
 *
 * I57. The word of a promise is a token, which either the promise takes before it uses the future,
 *      or the future when it ends. If the promise has taken it, the future ends only after the
 *      section in which the promise leaves it, or moves. If the future has taken it, the promise
 *      does not touch the future any more.
 *
 * I58. The future reads its promise's address and takes the token in one section. A promise ends or
 *      moves only in a section that changes that address, or after it has lost its token. So the
 *      future takes no token of a promise that has ended. */
class promise_word {
public:
    explicit promise_word(void* future = nullptr) noexcept
        : word_(reinterpret_cast<std::uintptr_t>(future)) {}

    bool is_set() const noexcept {
        // [F1] acquire, pairs with [F3]: the end of the future. Afterwards the promise may end.
        return word_.load(std::memory_order_acquire) != 0;
    }

    /// By the promise.
    /// @returns the future, which must be left or given to another promise; null if it has ended.
    void* take() noexcept {
        // [F2] acquire, pairs with [F3].
        return is_set() ? reinterpret_cast<void*>(word_.exchange(0, std::memory_order_acquire))
                        : nullptr;
    }

    /// By the future's end. @returns whether the promise had not taken the token.
    bool revoke() noexcept {
        // [F3] release, pairs with [F1] and [F2].
        return word_.exchange(0, std::memory_order_release) != 0;
    }

    /// By the promise that takes the place of another, in a section.
    void give(void* future) noexcept {
        // [F4] relaxed: no other thread knows the promise before the end of the section.
        word_.store(reinterpret_cast<std::uintptr_t>(future), std::memory_order_relaxed);
    }

private:
    atomic<std::uintptr_t> word_;
};

/* The future
 *
 *   open --resolve, if nobody waits---> full   the item is in the future
 *   open --resolve, if a party waits--> over   the item is in the party
 *   open --resolve, without an item---> over
 *   full --meet-----------------------> over   the item is in the party that came
 *   open --sever----------------------> over   the future ends
 *
 * It is its own arena, with one place. I52 and I53 hold here, too, except that a party waits in the
 * section for a selection that is held. I42 permits this: the lock is like a claimed waiter,
 * because the selection has left the future behind.
 *
 * I59. An item is in the future only while it is `full`. The section that takes it out, or that
 *      hands it to a waiting party, leaves `over`, from where no section leads back. */
template <class Rules>
class future_state {
    using item = typename Rules::item;
    using receiver = detail::receiver<Rules>;

public:
    using list_type = future_state;
    static constexpr bool withdraws_in_one_step = true;
    static constexpr bool keeps_cases = false; ///< It ends with one meeting.

    explicit future_state(std::size_t /*capacity*/) noexcept {}
    future_state(const future_state&) = delete;
    future_state& operator=(const future_state&) = delete;
    ~future_state() {
        if (phase_ == phase::full) {
            std::destroy_at(std::addressof(held));
        }
    }

    future_state& list() noexcept { return *this; }
    const future_state& list() const noexcept { return *this; }

    bool is_closed() const noexcept {
        const section here(lock_);
        return phase_ == phase::over;
    }

    /// As `basic_arena::pin`.
    void pin() noexcept {
        // [F5] relaxed: a completer pins in the section in which it takes the party out, or before
        // it sets `done` ([W4]). The end of the future comes after both.
        pins_.fetch_add(1, std::memory_order_relaxed);
    }
    void unpin() noexcept {
        // [F6] release, pairs with [F7]: the completer's last access.
        pins_.fetch_sub(1, std::memory_order_release);
    }
    void drain() const noexcept {
        // [F7] acquire, pairs with [F6].
        detail::yield_until([this] { return pins_.load(std::memory_order_acquire) == 0; });
    }

    // ---- The waiting party.

    /// @param before_wait  is called if the party waits, in the section.
    template <class BeforeWait>
    progress meet(receiver& w, bool may_wait, BeforeWait before_wait) noexcept {
        const section here(lock_);
        if (phase_ == phase::full) {
            phase_ = phase::over;
            w.take(held);
            std::destroy_at(std::addressof(held));
            return progress::completed;
        }
        if (phase_ == phase::over) {
            return progress::closed;
        }
        if (!may_wait) {
            return progress::no_partner;
        }
        assert(waiting_ == nullptr && "tryst: two parties must not wait for one future");
        before_wait();
        waiting_ = &w;
        return progress::waiting;
    }

    /// As `item_buffer::withdraw`.
    bool withdraw(receiver& w, colour /*side*/) noexcept {
        const section here(lock_);
        if (waiting_ != &w) {
            return false;
        }
        waiting_ = nullptr;
        return true;
    }

    // ---- The promise.

    /// The first promise.
    void connect(promise_word& by) noexcept {
        const section here(lock_);
        assert(!has_had_promise_ && "tryst: a future has one promise: call get_promise once");
        has_had_promise_ = true;
        // [F8] relaxed: the section orders it.
        promise_.store(reinterpret_cast<std::uintptr_t>(&by), std::memory_order_relaxed);
    }

    /// Gives `future`, the address of this, to another promise, unless the future is ending.
    /// Precondition for this and the next: the caller has taken the token.
    void move_promise(promise_word& to, void* future) noexcept {
        const section here(lock_);
        const bool ending = phase_ == phase::over;
        if (!ending) {
            to.give(future);
        }
        // [F9] relaxed: as [F8].
        promise_.store(ending ? 0 : reinterpret_cast<std::uintptr_t>(&to),
                       std::memory_order_relaxed);
    }

    /// Sets the item, or none, and ends the promise's use of the future.
    /// @param partner  is set to the party that must be completed, if there is one. Then the future
    ///   is pinned.
    /// @returns false if the future is ending.
    bool resolve(item* given, choice& partner) noexcept {
        const section here(lock_);
        if (phase_ == phase::open) {
            partner = take_out(given != nullptr ? outcome::exchanged : outcome::closed);
        }
        // [F10] relaxed: as [F8], and [F11] is followed by a section.
        promise_.store(0, std::memory_order_relaxed);
        if (phase_ != phase::open) {
            return false;
        }
        phase_ = phase::over;
        if (partner.party != nullptr) {
            pin(); // the future may end on a third thread
            if (given != nullptr) {
                static_cast<receiver*>(partner.party)->take(*given);
            }
        } else if (given != nullptr) {
            std::construct_at(std::addressof(held), std::move(*given));
            phase_ = phase::full;
        }
        return true;
    }

    // ---- The end of the future.

    /// Takes the promise's token.
    /// @returns false if the promise has taken it. Then it will leave the future.
    bool sever() noexcept {
        const section here(lock_);
        if (phase_ == phase::open) {
            phase_ = phase::over;
        }
        // Relaxed: the section orders it.
        const auto of = promise_.load(std::memory_order_relaxed);
        return of == 0 || reinterpret_cast<promise_word*>(of)->revoke();
    }
    bool has_promise() const noexcept {
        // [F11] relaxed: `take_closed` follows, whose section comes after that of the promise.
        return promise_.load(std::memory_order_relaxed) != 0;
    }

    /// Takes out the waiting party.
    choice take_closed() noexcept {
        const section here(lock_);
        return take_out(outcome::closed);
    }

private:
    enum class phase : std::uint8_t { open, full, over };
    using section = lock_section<typename Rules::lock>;

    choice take_out(outcome how) noexcept {
        using result = commitment::commit_result;
        receiver* const q = std::exchange(waiting_, nullptr);
        if (q == nullptr) {
            return {};
        }
        const auto committed =
            detail::needs_decision(*q) ? commitment::of(*q).commit(*q) : result::parked;
        if (committed == result::stale) {
            q->state.complete(*this); // its owner may be withdrawing it (I5)
            return {};
        }
        return {q, how, committed};
    }

    mutable typename Rules::lock lock_;
    atomic<std::int32_t> pins_{0};
    atomic<std::uintptr_t> promise_{0}; ///< The address of its `promise_word`; 0 if there is none.
    receiver* waiting_ = nullptr;
    phase phase_ = phase::open;
    bool has_had_promise_ = false;
    union {
        item held;
    };
};

template <class Rules, class Observer>
class protocol<future_state<Rules>, Observer>
    : public section_protocol<protocol<future_state<Rules>, Observer>, future_state<Rules>,
                              Observer> {
    using base = section_protocol<protocol, future_state<Rules>, Observer>;
    friend base;

public:
    protocol() noexcept : base(0) {}
    ~protocol() {
        if (!arena_.sever()) {
            detail::spin_until([this] { return !arena_.has_promise(); });
        }
        const choice closed = arena_.take_closed();
        if (base::complete_chosen(closed)) {
            detail::post(*closed.party);
        }
        arena_.drain();
    }

    void connect(promise_word& by) noexcept { arena_.connect(by); }
    void move_promise(promise_word& to) noexcept { arena_.move_promise(to, this); }

    /// Sets the item, or none. The caller has taken the token. The future may end during the call.
    /// @returns whether the item was moved; if not, the future was ending.
    bool resolve(typename Rules::item* given) noexcept {
        choice partner;
        const bool was_open = arena_.resolve(given, partner);
        if (partner.party != nullptr) {
            base::complete_each(partner, [] { return choice{}; });
        }
        return was_open;
    }

private:
    using base::arena_;

    /// As for a channel.
    template <class W>
    arrival meet(W& w, bool may_wait) noexcept {
        switch (arena_.meet(w, may_wait, base::before_wait(w))) {
        case progress::waiting: // `w` must not be touched
            return arrival::waiting;
        case progress::no_partner:
            return arrival::offered;
        case progress::closed:
            base::complete_own(w, outcome::closed);
            return arrival::completed;
        default:
            base::set_own_outcome(w, outcome::exchanged);
            return arrival::completed;
        }
    }
};

} // namespace tryst::detail
