// SPDX-License-Identifier: MIT
/// @file
/// One party of an exchange, while it waits: its item, and the word through which it is completed.
/// Standard library only. Never allocates, blocks or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/executor.hpp>
#include <tryst/result.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace tryst::detail {

/// How an exchange ended; `pending` until whoever owns the waiter says so.
enum class outcome : std::uint8_t {
    exchanged = 0,
    timed_out = static_cast<std::uint8_t>(exchange_errc::timed_out),
    cancelled = static_cast<std::uint8_t>(exchange_errc::cancelled),
    closed = static_cast<std::uint8_t>(exchange_errc::closed),
    no_partner = static_cast<std::uint8_t>(exchange_errc::no_partner),
    out_of_memory = static_cast<std::uint8_t>(exchange_errc::out_of_memory),
    pending,
};

/// Which side a party is on. Those without any meet each other, red meets blue.
enum class colour : std::uint8_t { none, red, blue };

constexpr colour opposite(colour own) noexcept {
    return own == colour::red ? colour::blue : own == colour::blue ? colour::red : colour::none;
}

/* The signal: what its owner, its partner and its cancellers tell each other about a waiter.
 *
 *   parked    owner      "I am suspended: who completes me must post me"
 *   done      completer  "your item and outcome are in place"
 *   stop      canceller  "somebody wants this wait to end"; with `expired`, because of its deadline
 *   leaving   owner      "I am about to withdraw my own offer from its slot"
 *   left      withdrawer "my withdrawal failed, and I shall not touch the exchanger again"
 *
 * The right to withdraw the waiter from slot 0 belongs to exactly one party: the canceller whose `stop`
 * was first and found `parked`, else the owner, who finds `stop` when it tries to set `parked`. (Were
 * `parked` set first, the waiter could be resumed, reused and parked again before a late withdrawal,
 * which would then remove the new offer.)
 *
 * W1. A withdrawer may come too late: a partner has claimed the waiter, and may even have returned and
 *     be destroying the exchanger while the withdrawer's CAS is on its way to the slot. So a party
 *     announces a withdrawal in the signal before, and takes it back after. A completer that is about to
 *     set `done` over an announced withdrawal counts it in the exchanger first; the withdrawer that sets
 *     `withdraw_failed` and sees `done` uncounts it; and the destructor waits until none is counted. */
namespace signal {
using bits = std::uint8_t;
inline constexpr bits stop = 1;
inline constexpr bits expired = 2;
inline constexpr bits done = 4;
inline constexpr bits parked = 8;
inline constexpr bits withdrawing = 16;
inline constexpr bits withdraw_failed = 32;

/// Whether, when `done` was set on top of `seen`, a withdrawal was under way.
constexpr bool withdrawal_under_way(bits seen) noexcept {
    const bool by_owner = (seen & withdrawing) != 0;
    const bool by_canceller = (seen & stop) != 0 && (seen & parked) != 0;
    return (by_owner || by_canceller) && (seen & withdraw_failed) == 0;
}

/// The outcome of a wait that `stop` ended.
constexpr outcome reason(bits seen) noexcept {
    return (seen & expired) != 0 ? outcome::timed_out : outcome::cancelled;
}
} // namespace signal

/// The part of a waiter that does not depend on the item. Its fields are plain: they belong to the
/// owner until the offer, and to whoever removed the waiter from its slot from then on (R1).
struct waiter : executor_node {
    executor_ref executor;
    atomic<signal::bits> state{0};
    outcome result = outcome::pending;
    bool unstoppable = false; ///< Nothing but a partner or a close can end the wait at slot 0.
    bool limited = false; ///< A stop or a deadline can, now. Read on the executor only.
    std::uint32_t place =
        0; ///< Where the latest offer was made: bound and slot, as in the arena; and where in the wait list.
};

/// A waiter with its own item, and after success its partner's in the same place.
template <class Own, class Theirs = Own, colour Colour = colour::none>
class item_waiter : public waiter {
public:
    static constexpr colour side = Colour;
    using partner = item_waiter<Theirs, Own, opposite(Colour)>;

    explicit item_waiter(Own&& value) noexcept : brought(std::move(value)) {}
    item_waiter(const item_waiter&) = delete;
    item_waiter& operator=(const item_waiter&) = delete;
    ~item_waiter() {
        if (result == outcome::exchanged) {
            got.~Theirs();
        } else {
            brought.~Own();
        }
    }

    /// Precondition: not exchanged.
    Own& own() noexcept { return brought; }
    /// Precondition: exchanged.
    Theirs& theirs() noexcept { return got; }

    /// Swaps the items of two waiters, both of which are the caller's, and are `exchanged` after.
    void swap_items(partner& other) noexcept {
        Own held(std::move(brought));
        brought.~Own();
        std::construct_at(std::addressof(got), std::move(other.brought));
        other.brought.~Theirs();
        std::construct_at(std::addressof(other.got), std::move(held));
    }

private:
    template <class, class, colour>
    friend class item_waiter;

    union {
        Own brought;
        Theirs got;
    };
};

} // namespace tryst::detail
