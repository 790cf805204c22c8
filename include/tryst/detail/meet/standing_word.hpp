// SPDX-License-Identifier: MIT
/// @file
/// The word of a set of cases, whose waiters stay in their lists from one round to the next.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/meet/commitment.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/trace.hpp>
#include <tryst/detail/run/linked_list.hpp>

#include <cstdint>
#include <utility>

namespace tryst::detail {

class case_registry;
class standing_word;

/// A case of a set, without its waiter. Only the owner of the set links it.
struct case_node : list_links<case_node> {
    /// The part that the registry of its object links.
    struct entry : list_links<entry> {
        standing_word* set = nullptr;
        colour side = colour::none;
    };
    /// The part that the set always links.
    struct member : list_links<member> {
        case_node* one = nullptr;
    };

    static case_node& of(const waiter& q) noexcept { return *static_cast<case_node*>(q.owner); }

    standing_word* set = nullptr;
    waiter* self = nullptr;
    case_registry* registry = nullptr; ///< The one of its object.
    std::uint8_t index = 0; ///< Which of the set's types it has.
    bool is_idle = false; ///< It has no item.
    entry registered;
    member owned;
};

/* The state word of a set
 * The waiter of each case stays in its object's wait list between two rounds, except a sender at a
 * weighted channel (`leaves_each_round`). A completer that has claimed it reads this word. If the
 * owner waits, the case takes place. If not, it hands the case back by a CAS of the word, and goes
 * on as after a stale claim (I41). So in each round the owner offers only the cases that are
 * *unlisted*: new, rearmed, served, withdrawn, or taken back from the word. A case in its list
 * needs no poll, because a partner would have taken it out (I3).
 *
 *   state        the owner                                a completer that has claimed a case
 *   away         is between rounds, or was decided        hands it back
 *   registering  claims partners, offers cases            waits
 *   yielding     likewise, but waits for another party    hands it back
 *   open, parked waits: awake, suspended                  commits
 *   stopped, expired   as open; a canceller came          commits
 *
 *   away        --begin[V1]--------> registering    by the owner, which takes what was handed back
 *   registering --open, park[V2]---> open, parked
 *   registering --leave[V2]--------> away           it has claimed a partner itself
 *   registering --yield------------> yielding
 *   yielding    --end_yield[V1]----> registering    by the owner, which takes what was handed back
 *   yielding    --leave[V3]--------> away
 *   open        --reopen, park[V3]-> registering, parked
 *   waiting     --commit[V3]-------> away           by a completer
 *   away, yielding --hand back[V3]-> the same       by a completer, with one more case
 *   parked      --request_stop[V3]-> away           by a canceller; from open to stopped, expired
 *   waiting     --try_decide_none[V3]-> away        by the owner, which finds a stop when it is
 *                                                   about to park, or which is destroyed
 *
 * The waiting states, from open to expired, hold no cases that were handed back: they are entered
 * from `registering`, which only the owner leaves, or from one another.
 *
 * I62. A case that is neither idle nor decided is unlisted, in its list, on the word's list, or
 *      claimed by one party. That party commits to it while the owner waits, or hands it back while
 *      the owner does not. Both are one CAS of the word. So no case is handed back while the owner
 *      waits.
 *
 * I63. While a set is `registering`, completers wait for it. Before a set waits for a selection, or
 *      for a set with a higher address, it is `yielding`, and completers hand its cases back.
 *      1. A party that registers nothing can only begin a chain of waiting parties.
 *      2. A set waits for a set only at a lower address while others may wait for it.
 *      3. It waits for no selection then. So a selection waits for sets, or along I42.
 *      4. So no chain is closed. If no set yielded, two sets with matching cases could block each
 *         other; if all did, they could retry forever.
 *
 * docs/adr/0022-standing-cases.md compares this with readiness notification. */
class standing_word {
public:
    using commit_result = commitment::commit_result;

    /// The waiter that is posted when the owner's wait is over.
    waiter node;

    /// @param is_shared  whether several threads may use the objects of the cases.
    explicit standing_word(bool is_shared) noexcept : is_shared_(is_shared) {
        node.waits_at.set({}); // `try_next` does not set it
    }
    standing_word(const standing_word&) = delete;
    standing_word& operator=(const standing_word&) = delete;

    /// The one that `q`, a standing waiter, belongs to.
    static standing_word& of(const waiter& q) noexcept { return *case_node::of(q).set; }

    // ---- A completer, which has claimed `q`.

    /// As `commitment::try_commit`; but `away` in place of `stale`.
    commit_result try_commit([[maybe_unused]] const waiter& q) noexcept {
        word seen = peek_word();
        while (true) {
            if (takes_back(seen)) {
                return commit_result::away;
            }
            if (seen == registering) {
                return commit_result::held;
            }
            const bool is_parked = seen == parked;
            if (change(seen, away)) {
                TRYST_TRACE(commit, &q);
                return is_parked ? commit_result::parked : commit_result::awake;
            }
        }
    }

    /// @returns whether `q` has been handed back, and must not be touched any more; if not, the
    ///   owner has come back: call `try_commit` again.
    bool hand_back(waiter& q) noexcept {
        word seen = peek_word();
        while (takes_back(seen)) {
            q.next = first_of(seen);
            if (change(seen, to_word(q) | (seen & state_bits))) {
                TRYST_TRACE(stale_claim, &q);
                return true;
            }
        }
        return false;
    }

    /// As `commitment::complete`.
    bool complete(waiter& q, outcome how, commit_result committed) noexcept {
        q.result = how;
        // [V6] release, pairs with [V7]: the item and the outcome. If the owner is parked, its post
        // orders it, too.
        decision_.store(to_word(q), std::memory_order_release);
        return committed == commit_result::parked;
    }

    /// Whether the owner is between two rounds. Call under the lock of the case's object.
    bool is_away() const noexcept { return (peek_word() & state_bits) == away; }

    /// Waits until the set is not being registered.
    [[gnu::noinline]] void await_open() const noexcept {
        TRYST_TRACE(held_selection);
        // Relaxed: `try_commit` acquires.
        spin_until([this] { return word_.load(std::memory_order_relaxed) != registering; });
    }

    /// Waits until the owner does not use the objects of its cases.
    /// Precondition: the end of the object has been announced (case_registry.hpp).
    void await_rest() noexcept {
        spin_until([this] {
            // [V5] acquire, pairs with [V2] and [V3]: the uses. Release, pairs with [V1] and
            // [V3]: the announcement. A read-modify-write, because the owner leaves this state by
            // one, which continues the release sequence.
            const word seen = word_.fetch_or(0, std::memory_order_acq_rel);
            return seen != registering && (seen & state_bits) != yielding;
        });
    }

    // ---- A canceller.

    /// As `commitment::request_stop`.
    bool request_stop(bool by_deadline) noexcept {
        word seen = peek_word();
        while (seen == open || seen == parked) {
            const bool is_parked = seen == parked;
            const word wanted = is_parked ? away : by_deadline ? expired : stopped;
            if (change(seen, wanted)) {
                if (is_parked) {
                    decide(none(by_deadline));
                }
                return is_parked;
            }
        }
        return false;
    }

    // ---- The owner.

    /// Begins a round. @returns the first of the cases that were handed back, which `next` links.
    executor_node* begin() noexcept {
        was_parked_ = false;
        decision_.store(pending, std::memory_order_relaxed); // relaxed: no party waits for it
        return first_of(swap(registering));
    }

    /// After the result of a decision was taken.
    void forget() noexcept { decide(pending); }

    /// Takes what was handed back between two rounds.
    executor_node* take_handed_back() noexcept {
        return first_of(peek_word()) == nullptr ? nullptr : first_of(swap(away));
    }

    /// Before a wait for `q`, a waiter that was claimed, whose owner registers: see I63.
    void yield_to(const waiter& q) noexcept {
        if (!is_yielding_ && (q.kind == waiter::kind_type::selecting || this < &of(q))) {
            is_yielding_ = true;
            // Relaxed: it publishes nothing, and no other party writes `registering`.
            word_.store(yielding, std::memory_order_relaxed);
        }
    }

    /// Ends that. @returns as `begin`.
    executor_node* end_yield() noexcept {
        if (!std::exchange(is_yielding_, false)) {
            return nullptr;
        }
        return first_of(swap(registering));
    }

    /// Decides for `q`, by the owner's own step. Precondition: registering or yielding.
    void decide(waiter& q) noexcept { leave(to_word(q)); }
    /// As above, for no case.
    void decide_none(outcome why) noexcept { leave(static_cast<word>(why)); }

    /// As in `commitment`.
    void open_or_park(bool park) noexcept {
        was_parked_ = park;
        store(park ? parked : open);
    }
    bool reopen() noexcept {
        open_or_park(false);
        return change_open(registering);
    }
    bool park() noexcept {
        was_parked_ = true;
        if (change_open(parked)) {
            return true;
        }
        was_parked_ = false;
        try_decide_none();
        return false;
    }
    bool try_decide_none() noexcept {
        word seen = peek_word();
        while (!takes_back(seen)) {
            if (change(seen, away)) {
                decide(none(seen == expired));
                return true;
            }
        }
        return false;
    }
    bool is_settled() const noexcept {
        // [V7] acquire, pairs with [V6].
        return decision_.load(std::memory_order_acquire) != pending;
    }
    bool has_been_parked() const noexcept { return was_parked_; }
    /// Precondition: settled.
    waiter* decided() const noexcept {
        const word seen = peek();
        return seen > pending ? reinterpret_cast<waiter*>(seen) : nullptr;
    }
    outcome reason() const noexcept { return static_cast<outcome>(peek()); }

private:
    using word = std::uintptr_t;

    // The state, and in the first two the address of the latest case that was handed back.
    static constexpr word away = 0;
    static constexpr word yielding = 1;
    static constexpr word registering = 2;
    static constexpr word open = 3;
    static constexpr word parked = 4;
    static constexpr word stopped = 5;
    static constexpr word expired = 6;
    static constexpr word state_bits = 7;
    static_assert(alignof(waiter) > state_bits);

    // The decision: a waiter, or an outcome.
    static constexpr word pending = static_cast<word>(outcome::pending);

    static bool takes_back(word seen) noexcept { return (seen & state_bits) <= yielding; }
    static executor_node* first_of(word seen) noexcept {
        const word first = seen & ~state_bits;
        return first == 0 ? nullptr : reinterpret_cast<waiter*>(first);
    }
    static word to_word(waiter& q) noexcept { return reinterpret_cast<word>(&q); }
    static word none(bool by_deadline) noexcept {
        return static_cast<word>(by_deadline ? outcome::timed_out : outcome::cancelled);
    }

    word peek() const noexcept {
        // Relaxed: the owner has seen the decision.
        return decision_.load(std::memory_order_relaxed);
    }
    void decide(word decision) noexcept {
        // Relaxed: the owner's own, or ordered by its post.
        decision_.store(decision, std::memory_order_relaxed);
    }

    void leave(word decision) noexcept {
        decide(decision);
        if (!std::exchange(is_yielding_, false)) {
            store(away);
            return;
        }
        word seen = peek_word();
        while (!change(seen, seen & ~yielding)) { // with what was handed back
        }
    }

    bool change_open(word wanted) noexcept {
        word seen = open;
        while (seen == open) {
            if (change(seen, wanted)) {
                return true;
            }
        }
        return false;
    }

    word peek_word() const noexcept {
        // Relaxed: what follows acquires.
        return word_.load(std::memory_order_relaxed);
    }

    /// From `registering`.
    void store(word state) noexcept {
        // [V2] release, pairs with [V3] and [V5]: everything that the owner did before.
        word_.store(state, std::memory_order_release);
    }

    /// A weak compare-exchange. Where all parties are on one thread, a load and a store.
    bool change(word& seen, word wanted) noexcept {
        if (is_shared_) {
            // [V3] acquire, pairs with [V2] and itself: what the owner did before. Release, pairs
            // with [V1], [V5] and itself: the use of a case that is handed back. Failure relaxed:
            // retried.
            return word_.compare_exchange_weak(seen, wanted, std::memory_order_acq_rel,
                                               std::memory_order_relaxed);
        }
        const word expected = std::exchange(seen, peek_word());
        if (expected == seen) {
            word_.store(wanted, std::memory_order_relaxed); // relaxed: of one thread
        }
        return expected == seen;
    }

    /// Likewise, an exchange.
    word swap(word wanted) noexcept {
        if (is_shared_) {
            // [V1] acquire, pairs with [V3] and [V5]: the cases that were handed back, and the end
            // of an object.
            return word_.exchange(wanted, std::memory_order_acquire);
        }
        const word found = peek_word();
        word_.store(wanted, std::memory_order_relaxed); // relaxed: of one thread
        return found;
    }

    atomic<word> word_{away};
    atomic<word> decision_{pending};
    const bool is_shared_;
    bool is_yielding_ = false; ///< Only the owner reads this and the next.
    bool was_parked_ = false;
};

} // namespace tryst::detail
