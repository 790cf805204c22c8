// SPDX-License-Identifier: MIT
/// @file
/// One party of an exchange while it waits: its item, and everything that its completer needs.
/// Standard library only. Never allocates, blocks or throws.
#pragma once

#include <tryst/detail/meet/signal.hpp>
#include <tryst/detail/platform/location.hpp>
#include <tryst/executor.hpp>
#include <tryst/result.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace tryst::detail {

/// How an exchange ended. It is `pending` until the party to which the waiter belongs writes it.
enum class outcome : std::uint8_t {
    exchanged = 0,
    timed_out = static_cast<std::uint8_t>(exchange_errc::timed_out),
    cancelled = static_cast<std::uint8_t>(exchange_errc::cancelled),
    closed = static_cast<std::uint8_t>(exchange_errc::closed),
    no_partner = static_cast<std::uint8_t>(exchange_errc::no_partner),
    out_of_memory = static_cast<std::uint8_t>(exchange_errc::out_of_memory),
    not_selected = static_cast<std::uint8_t>(exchange_errc::not_selected),
    pending,
};

/// Which side a party is on. Parties without a side match each other; red matches blue.
enum class colour : std::uint8_t { none, red, blue };

constexpr colour opposite(colour own) noexcept {
    return own == colour::red ? colour::blue : own == colour::blue ? colour::red : colour::none;
}

/// The progress of an operation. Only its own executor or thread reads and writes it.
enum class stage : std::uint8_t {
    created, ///< Not offered yet.
    registered, ///< A case that is offered, while its selection does not wait yet.
    offered, ///< Only a partner or a close can end the wait now.
    offered_cancelled, ///< As `offered`; the client has cancelled, in force after the turn.
    resuming, ///< Complete; the resumption is queued, because the budget was spent.
    finished, ///< No stop callback or timer refers to the operation any more.
    stoppable, ///< The stop callback, if there is one, is registered; no timer is armed.
    timed_by_executor, ///< As `stoppable`; a timer is armed with the waiter's executor.
    timed_by_thread, ///< As `stoppable`; a timer is armed with the timer thread.
};

/// Whether a wait can be cancelled now, by a stop, a deadline or the client. Call on the waiter's
/// executor.
constexpr bool is_limited(stage at) noexcept {
    return at >= stage::stoppable;
}

/// The part of a waiter that does not depend on the item. Its fields are not atomic. They belong to
/// the owner until the offer, and then to the party that removed the waiter from its slot (I1).
struct waiter : executor_node {
    executor_ref executor;
    signal state;
    outcome result = outcome::pending;

    enum class kind_type : std::uint8_t {
        stoppable, ///< A stop or a deadline may end the wait in the wait list.
        unstoppable, ///< Only a partner or a close can.
        selecting, ///< It waits for a case of a selection, which may be decided elsewhere.
        standing, ///< It waits for a case of a set, and stays from one round to the next.
    };
    kind_type kind = kind_type::stoppable;
    stage at = stage::created;
    /// Where the latest offer is: `basic_arena::place` or `place_in_list`. A wait list may store a
    /// number of its own in the low 24 bits.
    std::uint32_t place = 0;
    /// The client of its operation, the `commitment` of its selection, or its `case_node`.
    void* owner = nullptr;
    location_slot waits_at; ///< Where its party waits; set before `at`. Directly behind `owner`.
};

/// Whether `q` is one of several cases: then its claimer must decide for it first (I41).
inline bool needs_decision(const waiter& q) noexcept {
    return q.kind >= waiter::kind_type::selecting;
}

/// Not inlined, so that it does not slow down a post.
[[gnu::noinline]] inline void resume_inline(waiter& q) noexcept {
    const inline_scope here;
    q.run(&q);
}

/// Resumes the owner of `q`, which is suspended.
inline void post(waiter& q) noexcept {
    if (q.executor) {
        q.executor.post(&q);
    } else {
        resume_inline(q);
    }
}

/// A waiter with its own item or, after success, its partner's item in the same place.
/// @tparam Base  `waiter`, or a class derived from it.
template <class Own, class Theirs = Own, colour Colour = colour::none, class Base = waiter>
class item_waiter : public Base {
public:
    static constexpr colour side = Colour;
    using partner = item_waiter<Theirs, Own, opposite(Colour), Base>;

    explicit item_waiter(Own&& value) noexcept : brought(std::move(value)) {}
    item_waiter(const item_waiter&) = delete;
    item_waiter& operator=(const item_waiter&) = delete;
    ~item_waiter() {
        if (this->result == outcome::exchanged) {
            got.~Theirs();
        } else {
            brought.~Own();
        }
    }

    /// Precondition: the items have not been swapped.
    Own& own() noexcept { return brought; }
    /// Precondition: the items have been swapped.
    Theirs& theirs() noexcept { return got; }

    /// Swaps the items of two waiters that both belong to the caller. The caller must set both
    /// results to `exchanged`.
    void swap_items(partner& other) noexcept {
        Own held(std::move(brought));
        brought.~Own();
        std::construct_at(std::addressof(got), std::move(other.brought));
        other.brought.~Theirs();
        std::construct_at(std::addressof(other.got), std::move(held));
    }

private:
    template <class, class, colour, class>
    friend class item_waiter;

    union {
        Own brought;
        Theirs got;
    };
};

} // namespace tryst::detail
