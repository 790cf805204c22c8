// SPDX-License-Identifier: MIT
/// @file
/// The inbox of a serial executor: other threads post work there, and learn whether the executor
/// sleeps.
/// Standard library only. Never allocates, blocks or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/executor.hpp>

#include <cstdint>

namespace tryst::detail {

/* The inbox
 *   empty    --post[M1]---------> nodes      a stack, the latest first
 *   nodes    --post[M1]---------> nodes      one more
 *   nodes    --take[M2]---------> empty      by the owner
 *   empty    --prepare_wait[M3]-> sleeping   by the owner, which goes to sleep
 *   sleeping --post[M1]---------> nodes      this poster must wake the owner
 *   sleeping --cancel_wait[M4]--> empty      by the owner, if it wakes by itself
 *
 * I13. For each `prepare_wait` that succeeds there is either one wake-up, by the poster whose CAS
 *     found `sleeping`, or a `cancel_wait` that succeeds. One word holds both the mail and whether
 *     the owner sleeps, so no wake-up can be lost.
 *
 * A poster that need not wake the owner touches nothing after its CAS. An owner whose `cancel_wait`
 * fails must wait for the wake-up before it may destroy the inbox. The owner decides how it sleeps
 * and is woken: by a futex, by a ring, by another executor's queue. */
class inbox {
public:
    /// Hands over `node`. Call from any thread.
    /// @returns whether the owner sleeps. If so, the caller must wake it, and no other poster will
    ///   (I13).
    [[nodiscard]] bool post(executor_node* node) noexcept {
        // Relaxed: the CAS re-reads it.
        word seen = word_.load(std::memory_order_relaxed);
        do {
            node->next = nodes(seen);
            // [M1] release, pairs with [M2]: the node and everything before the post. Acquire,
            // pairs with [M3]: everything that the owner did before it slept. Failure relaxed:
            // retried.
        } while (!word_.compare_exchange_weak(seen, reinterpret_cast<word>(node),
                                              std::memory_order_acq_rel,
                                              std::memory_order_relaxed));
        saw_partner(seen == sleeping);
        return seen == sleeping;
    }

    /// Whether there may be mail. This and all functions below are for the owner.
    bool has_mail() const noexcept {
        // Relaxed: `take` acquires.
        return nodes(word_.load(std::memory_order_relaxed)) != nullptr;
    }

    /// All the mail, linked in the order in which it was posted; null if there is none. Does not
    /// end a sleep.
    executor_node* take() noexcept {
        if (!has_mail()) {
            return nullptr;
        }
        // [M2] acquire, pairs with [M1]. The earlier posts are in the release sequence that it
        // reads.
        executor_node* latest_first = nodes(word_.exchange(empty, std::memory_order_acquire));
        executor_node* in_order = nullptr;
        while (latest_first != nullptr) {
            executor_node* const next = latest_first->next;
            latest_first->next = in_order;
            in_order = latest_first;
            latest_first = next;
        }
        return in_order;
    }

    /// Prepares to sleep. @returns false if there is mail: then the owner must not sleep.
    [[nodiscard]] bool prepare_wait() noexcept {
        word seen = empty;
        // [M3] release, pairs with [M1]: the owner is ready to be woken. Failure relaxed: there is
        // mail.
        return word_.compare_exchange_strong(seen, sleeping, std::memory_order_release,
                                             std::memory_order_relaxed);
    }

    /// Cancels `prepare_wait`. @returns false if a poster is about to wake the owner.
    [[nodiscard]] bool cancel_wait() noexcept {
        word seen = sleeping;
        // [M4] relaxed: publishes and acquires nothing. Failure relaxed: likewise.
        return word_.compare_exchange_strong(seen, empty, std::memory_order_relaxed,
                                             std::memory_order_relaxed);
    }

private:
    using word = std::uintptr_t;
    static constexpr word empty = 0;
    static constexpr word sleeping = 1;

    static executor_node* nodes(word seen) noexcept {
        return seen == sleeping ? nullptr : reinterpret_cast<executor_node*>(seen);
    }

    atomic<word> word_{empty};
};

} // namespace tryst::detail
