// SPDX-License-Identifier: MIT
/// @file
/// A rival of the exchanger for threads: one slot, and std::atomic::wait.
#pragma once

#include <atomic>
#include <optional>
#include <utility>

namespace tryst::bench {

/// The first party stores the address of its record and waits. The second takes the address, swaps
/// and wakes the first.
template <class T>
class atomic_exchanger {
public:
    /// @returns the partner's item; nothing after `close`.
    std::optional<T> exchange(T item) {
        // The partner's wake-up may come after this call has returned, and then finds the same
        // word.
        thread_local party me;
        me.item = std::move(item);
        me.state.store(waiting, std::memory_order_relaxed);
        party* seen = nullptr;
        while (!slot_.compare_exchange_weak(seen, seen == nullptr ? &me : nullptr,
                                            std::memory_order_acq_rel, std::memory_order_acquire)) {
            if (seen == &closed_) {
                return std::nullopt;
            }
        }
        if (seen != nullptr) {
            std::swap(me.item, seen->item);
            wake(*seen, done);
            return std::move(me.item);
        }
        me.state.wait(waiting, std::memory_order_acquire);
        return me.state.load(std::memory_order_acquire) == done ? std::optional(std::move(me.item))
                                                                : std::nullopt;
    }

    void close() {
        party* const alone = slot_.exchange(&closed_, std::memory_order_acq_rel);
        if (alone != nullptr && alone != &closed_) {
            wake(*alone, refused);
        }
    }

private:
    // Of type int, because a thread can wait on an int without a proxy.
    static constexpr int waiting = 0;
    static constexpr int done = 1;
    static constexpr int refused = 2;

    struct alignas(128) party {
        T item{};
        std::atomic<int> state{waiting};
    };

    static void wake(party& partner, int outcome) {
        partner.state.store(outcome, std::memory_order_release);
        partner.state.notify_one();
    }

    std::atomic<party*> slot_{nullptr};
    party closed_;
};

} // namespace tryst::bench
