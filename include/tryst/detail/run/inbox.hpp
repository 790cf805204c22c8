// SPDX-License-Identifier: MIT
/// @file
/// How other threads hand work to a serial executor, and how they learn that it sleeps.
/// Standard library only. Never allocates, blocks or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/executor.hpp>

#include <cstdint>

namespace tryst::detail {

/* The inbox
 *   empty    --post[M1]-->  a stack of nodes, the latest first
 *   nodes    --post[M1]-->  one more
 *   nodes    --take[M2]-->  empty       by the owner
 *   empty    --prepare_wait[M3]-->  sleeping    by the owner: it looks no more, somebody must call it
 *   sleeping --post[M1]-->  one node    and this poster, alone, must call the owner
 *   sleeping --cancel_wait[M4]--> empty       by the owner, if it comes back by itself
 *
 * One word holds both the mail and whether the owner sleeps, so no call can be lost between them, and
 * there is one call for each sleep. A poster that need not call touches nothing after its CAS; an owner
 * that finds its word changed by a poster waits for that poster's call before it may end the inbox's
 * life. What sleeping and calling are is the owner's business: a futex, a ring, another executor's queue. */
class inbox {
public:
    /// Hands over `node`. From any thread.
    /// @returns whether the owner sleeps: the caller must then call it, and nobody else will.
    [[nodiscard]] bool post(executor_node* node) noexcept {
        // Relaxed: the CAS re-reads it.
        word seen = word_.load(std::memory_order_relaxed);
        do {
            node->next = nodes(seen);
            // [M1] release, pairs with [M2]: the node and all before the post. Acquire, pairs with
            // [M3]: what the owner did before it slept. Failure relaxed: retried.
        } while (!word_.compare_exchange_weak(seen, reinterpret_cast<word>(node),
                                              std::memory_order_acq_rel,
                                              std::memory_order_relaxed));
        return seen == sleeping;
    }

    /// Whether there may be mail. By the owner, as all below.
    bool has_mail() const noexcept {
        // Relaxed: `take` acquires.
        return word_.load(std::memory_order_relaxed) != empty;
    }

    /// All the mail, linked in the order of its posting; null if there is none.
    executor_node* take() noexcept {
        if (!has_mail()) {
            return nullptr;
        }
        // [M2] acquire, pairs with [M1]; the earlier posts are in the release sequence that it reads.
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

    /// Says that the owner looks no more. @returns whether it may sleep; not if there is mail.
    [[nodiscard]] bool prepare_wait() noexcept {
        word seen = empty;
        // [M3] release, pairs with [M1]: the owner is ready to be called. Failure relaxed: there is mail.
        return word_.compare_exchange_strong(seen, sleeping, std::memory_order_release,
                                             std::memory_order_relaxed);
    }

    /// Takes that back. @returns whether nobody calls; else a poster is about to.
    [[nodiscard]] bool cancel_wait() noexcept {
        word seen = sleeping;
        // [M4] relaxed: no data, neither way. Failure relaxed: as well.
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
