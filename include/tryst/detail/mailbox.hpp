// SPDX-License-Identifier: MIT
/// @file
/// How other threads hand work to a loop, and how the loop sleeps until they do.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/atomic.hpp>
#include <tryst/detail/parker.hpp>
#include <tryst/executor.hpp>

#include <cstdint>

namespace tryst::detail {

/* The mailbox
 *   empty    --post[M1]-->  a stack of nodes, the latest first
 *   nodes    --post[M1]-->  one more
 *   nodes    --take[M2]-->  empty       by the loop
 *   empty    --doze[M3]-->  sleeping    by the loop
 *   sleeping --post[M1]-->  one node    and this poster, alone, must unpark the loop
 *   sleeping --rouse[M4]--> empty       by the loop, when its time is up
 *
 * One word holds both the mail and whether the loop sleeps, so no wake-up can be lost between them, and
 * there is one wake-up for each sleep. A loop that slept and finds its word changed by a poster waits
 * for that poster's unpark, even if it woke by itself: after it no poster is inside, and the loop may be
 * destroyed. A poster that woke nobody touches nothing after its CAS. */
class mailbox {
public:
    /// Hands over `node`, and wakes the loop if it sleeps. From any thread.
    void post(executor_node* node) noexcept {
        // Relaxed: the CAS re-reads it.
        word seen = word_.load(std::memory_order_relaxed);
        do {
            node->next = nodes(seen);
            // [M1] release, pairs with [M2]: the node and all before the post. Acquire, pairs with
            // [M3]: the sleeper emptied its parker before we fill it. Failure relaxed: retried.
        } while (!word_.compare_exchange_weak(seen, reinterpret_cast<word>(node),
                                              std::memory_order_acq_rel,
                                              std::memory_order_relaxed));
        if (seen == sleeping) {
            parker_.unpark();
        }
    }

    /// Whether there may be mail. On the loop's thread, as all below.
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

    /// Sleeps until there is mail.
    void sleep() noexcept {
        if (doze()) {
            parker_.park();
        }
    }

    /// Sleeps until there is mail or `deadline` has passed.
    void sleep_until(clock::time_point deadline) noexcept {
        if (doze() && !parker_.park_until(deadline)) {
            word seen = sleeping;
            // [M4] relaxed: no data; failure: a poster is about to unpark us.
            if (!word_.compare_exchange_strong(seen, empty, std::memory_order_relaxed,
                                               std::memory_order_relaxed)) {
                parker_.park();
            }
        }
    }

private:
    using word = std::uintptr_t;
    static constexpr word empty = 0;
    static constexpr word sleeping = 1;

    static executor_node* nodes(word seen) noexcept {
        return seen == sleeping ? nullptr : reinterpret_cast<executor_node*>(seen);
    }

    bool doze() noexcept {
        word seen = empty;
        // [M3] release, pairs with [M1]: our parker is empty. Failure relaxed: there is mail.
        return word_.compare_exchange_strong(seen, sleeping, std::memory_order_release,
                                             std::memory_order_relaxed);
    }

    atomic<word> word_{empty};
    parker parker_;
};

} // namespace tryst::detail
