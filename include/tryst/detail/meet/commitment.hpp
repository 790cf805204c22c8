// SPDX-License-Identifier: MIT
/// @file
/// The word of a selection, through which exactly one of its cases is decided.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/trace.hpp>

#include <cassert>
#include <cstdint>

namespace tryst::detail {

/* The commitment
 * A selection has a waiter for each of its cases. Several of them wait in the lists of different
 * exchangers, and several parties may claim them at the same time. This word decides which case
 * takes place. It belongs to the selection, and so lives in the frame of its owner.
 *
 *   held     --decide---------> decided     by the owner, which has claimed a partner itself
 *   held     --open[C2]-------> open        all cases are registered, and the owner runs
 *   held     --park[C2]-------> parked      likewise, and the owner is suspended
 *   open     --hold[C4]-------> held        a long registration goes on
 *   open     --park[C4]-------> parked
 *   open     --request_stop[C5]-> stopped, expired   by a canceller
 *   any but held and decided
 *            --commit[C1]-----> decided     by a completer: a partner or a closer
 *            --try_decide_none[C7]-> decided   by the owner, which finds a stop when it is about to
 *                                           park, or which is being destroyed
 *   parked   --request_stop[C5]-> decided   by a canceller: no case takes place
 *   decided  --deliver[C3]----> delivered   by the completer, if the owner was not parked
 *
 * I41. A completer that has claimed a waiter of a selection commits to it before it touches the
 *     item or the outcome, and before it resumes any party. If another case has been decided, the
 *     waiter is *stale*, and the completer hands it back (claimed_case.hpp). The owner ends its
 *     selection only after each of its waiters has been withdrawn or handed back. So the word
 *     outlives every commit.
 *
 * I42. While a selection is `held`, completers wait for it. No parties wait for each other in a
 *     cycle:
 *     1. A selection registers its cases in ascending order of the addresses of their exchangers,
 *        at most one case for each exchanger, and is held during the registration.
 *     2. A party that waits has claimed a waiter of the held selection, in an exchanger E. The
 *        held selection has left E behind, so it registers at a higher address.
 *     3. If the party that waits is itself a held selection, it registers at E. So along a chain of
 *        waiting parties, the addresses ascend, and the chain ends.
 *     4. Parties that are not registering a selection are not held, so they can only begin a chain.
 *     5. A selection that claims a partner is decided before that partner resumes. A partner that
 *        resumes inline, within the registration, can thus arrive at the selection's exchangers. */
class commitment {
public:
    /// What a completer's `commit` found.
    enum class commit_result : std::uint8_t {
        held, ///< The selection is being registered: try again later.
        stale, ///< Another case has been decided, or none.
        away, ///< Of a set only: its owner is between two rounds. Hand the waiter back.
        awake, ///< The waiter is decided. Its owner runs: the completer must `deliver`.
        parked, ///< The waiter is decided. Its owner is suspended: the completer must post it.
    };

    commitment() = default;
    commitment(const commitment&) = delete;
    commitment& operator=(const commitment&) = delete;

    /// The one that `q`, a waiter of a selection, belongs to.
    static commitment& of(waiter& q) noexcept { return *static_cast<commitment*>(q.owner); }

    // ---- A completer, which has claimed `q`.

    /// Decides for `q`, unless there is a decision. Waits while the selection is held.
    commit_result commit(waiter& q) noexcept {
        while (true) {
            const commit_result result = try_commit(q);
            if (result != commit_result::held) {
                return result;
            }
            await_open();
        }
    }

    /// As above, but does not wait.
    commit_result try_commit(waiter& q) noexcept {
        // Relaxed: the CAS re-reads it, and a stale waiter is not touched.
        word seen = word_.load(std::memory_order_relaxed);
        while (true) {
            if (is_decided(seen)) {
                TRYST_TRACE(stale_claim, &q);
                return commit_result::stale;
            }
            if (seen == held) {
                return commit_result::held;
            }
            const bool is_parked = seen == parked;
            // [C1] acquire, pairs with [C2] and [C4]: everything that the owner did before. Failure
            // relaxed: retried.
            if (word_.compare_exchange_weak(seen, to_word(q) | (is_parked ? was_parked : 0),
                                            std::memory_order_acquire, std::memory_order_relaxed)) {
                TRYST_TRACE(commit, &q);
                return is_parked ? commit_result::parked : commit_result::awake;
            }
        }
    }

    /// Waits while the selection is held. Not inlined, because registrations are short.
    [[gnu::noinline]] void await_open() const noexcept {
        TRYST_TRACE(held_selection);
        // Relaxed: `commit` acquires.
        spin_until([this] { return word_.load(std::memory_order_relaxed) != held; });
    }

    /// Completes `q`, for which the caller has decided.
    /// @returns whether the caller must post `q`; if not, the caller must not touch it any more.
    bool complete(waiter& q, outcome how, commit_result committed) noexcept {
        q.result = how;
        if (committed == commit_result::parked) {
            return true;
        }
        deliver(q);
        return false;
    }

    /// As above, for the commitment of `q`. Also withdraws the waiters of a parked owner, so that
    /// other parties do not claim stale waiters until it runs.
    static bool complete_case(waiter& q, outcome how, commit_result committed) noexcept {
        commitment& its = of(q);
        const bool suspended = its.complete(q, how, committed);
        if (suspended && its.leave_parked != nullptr) {
            its.leave_parked(its);
        }
        return suspended;
    }

    /// Tells the owner that the item and the outcome of `q` are in place. The caller must not touch
    /// the selection any more.
    void deliver(waiter& q) noexcept {
        // [C3] release, pairs with [C6]: the item and the outcome. A plain store, because
        // no other party changes the word once it is decided.
        word_.store(to_word(q) | delivered, std::memory_order_release);
    }

    // ---- A canceller.

    /// Requests the end of the wait, because of its deadline or a stop.
    /// @returns whether the caller must post the owner: then no case takes place.
    bool request_stop(bool by_deadline) noexcept {
        word seen = word_.load(std::memory_order_relaxed); // relaxed: the CAS re-reads it
        while (true) {
            assert(seen != held);
            if (seen != open && seen != parked) {
                return false;
            }
            const bool is_parked = seen == parked;
            const word wanted = is_parked ? none(by_deadline) : by_deadline ? expired : stopped;
            // [C5] acquire, pairs with [C2] and [C4]: the parked owner. No release: removing the
            // stop callback or the timer orders this call before the end of the selection. Failure
            // relaxed: retried.
            if (word_.compare_exchange_weak(seen, wanted, std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
                return is_parked;
            }
        }
    }

    // ---- The owner.

    /// Decides for `q`, or for no case. Precondition: the selection is held, or no waiter of it is
    /// in a list.
    void decide(waiter& q) noexcept { decide(to_word(q) | delivered); }
    void decide_none(outcome reason) noexcept { decide(word{static_cast<std::uint8_t>(reason)}); }

    /// Ends the registration.
    void open_or_park(bool park) noexcept {
        // [C2] release, pairs with [C1] and [C5]: everything that the owner did before.
        word_.store(park ? parked : open, std::memory_order_release);
    }

    /// Opens a held selection for a moment, so that completers that wait can go on.
    /// @returns false if it is decided now.
    bool reopen() noexcept {
        open_or_park(false);
        return change_open(held);
    }

    /// Parks an open selection. If a stop came first, decides for no case.
    /// @returns false if it is decided.
    bool park() noexcept {
        if (change_open(parked)) {
            return true;
        }
        try_decide_none();
        return false;
    }

    /// Decides for no case, unless there is a decision.
    /// @returns whether it did.
    bool try_decide_none() noexcept {
        word seen = word_.load(std::memory_order_relaxed); // relaxed: the CAS re-reads it
        while (!is_decided(seen)) {
            // [C7] relaxed: the owner publishes nothing by it, and stale waiters are not touched.
            // Failure relaxed: retried.
            if (word_.compare_exchange_weak(seen, none(seen == expired), std::memory_order_relaxed,
                                            std::memory_order_relaxed)) {
                return true;
            }
        }
        return false;
    }

    /// Whether the decision has been made and its item and outcome are in place.
    bool is_settled() const noexcept {
        // [C6] acquire, pairs with [C3].
        const word seen = word_.load(std::memory_order_acquire);
        return is_decided(seen) && (waiter_of(seen) == nullptr || (seen & flags) != 0);
    }

    /// Whether the owner was parked when a completer decided. Precondition: it is decided.
    bool has_been_parked() const noexcept { return (peek() & flags) == was_parked; }

    /// The waiter of the decided case; null if no case takes place. Precondition: it is decided.
    waiter* decided() const noexcept { return waiter_of(peek()); }

    /// Why no case takes place. Precondition: it is decided, and `decided()` is null.
    outcome reason() const noexcept { return static_cast<outcome>(peek()); }

    /// Withdraws the waiters of all other cases, or waits until they are handed back. Null if there
    /// may be many cases.
    void (*leave_parked)(commitment&) noexcept = nullptr;

protected:
    ~commitment() = default;

private:
    using word = std::uintptr_t;

    // Without a decision one of these; for a decision against all cases the outcome, which is
    // smaller; else the address of the waiter, with a flag in its low bits, or without before
    // `deliver`.
    static constexpr word parked = static_cast<word>(outcome::pending) + 1;
    static constexpr word held = parked + 1;
    static constexpr word open = held + 1;
    static constexpr word stopped = open + 1;
    static constexpr word expired = stopped + 1;
    static constexpr word delivered = 1;
    static constexpr word was_parked = 2;
    static constexpr word flags = delivered | was_parked;
    static_assert(alignof(waiter) > flags);

    static bool is_decided(word seen) noexcept { return seen < parked || seen > expired; }
    static waiter* waiter_of(word seen) noexcept {
        return seen > expired ? reinterpret_cast<waiter*>(seen & ~flags) : nullptr;
    }
    static word to_word(waiter& q) noexcept { return reinterpret_cast<word>(&q); }
    static word none(bool by_deadline) noexcept {
        return static_cast<word>(by_deadline ? outcome::timed_out : outcome::cancelled);
    }

    word peek() const noexcept {
        // Relaxed: the owner has seen the decision.
        return word_.load(std::memory_order_relaxed);
    }

    void decide(word decision) noexcept {
        // Relaxed: the owner publishes nothing by it, and stale waiters are not touched.
        word_.store(decision, std::memory_order_relaxed);
    }

    bool change_open(word wanted) noexcept {
        word seen = open;
        // [C4] release, pairs with [C1] and [C5]: as [C2]. Failure relaxed: `is_settled` acquires.
        return word_.compare_exchange_strong(seen, wanted, std::memory_order_release,
                                             std::memory_order_relaxed);
    }

    atomic<word> word_{held};
};

} // namespace tryst::detail
