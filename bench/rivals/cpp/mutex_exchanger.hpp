// SPDX-License-Identifier: MIT
/// @file
/// A baseline for comparison: an exchanger in which threads block, each on a condition variable of
/// its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace tryst::bench {

/// java.util.concurrent.Exchanger in the style of Java SE 5. A condition variable of its own for
/// each waiter corrects that version's fault, which could wake the wrong thread.
template <class T>
class mutex_exchanger {
public:
    /// @returns the partner's item; nullopt after `close`.
    std::optional<T> exchange(T mine) {
        return meet(std::move(mine), [](offer& ours, std::unique_lock<std::mutex>& lock,
                                        auto over) { ours.changed.wait(lock, over); });
    }

    /// @returns the partner's item; nullopt after `patience` or `close`.
    std::optional<T> exchange(T mine, std::chrono::nanoseconds patience) {
        return meet(std::move(mine),
                    [patience](offer& ours, std::unique_lock<std::mutex>& lock, auto over) {
                        ours.changed.wait_for(lock, patience, over);
                    });
    }

    /// Ends all waits, and later ones at once.
    void close() {
        const std::scoped_lock lock(mutex_);
        closed_ = true;
        if (waiting_ != nullptr) {
            waiting_->changed.notify_one();
        }
    }

private:
    struct offer {
        T item;
        bool done = false;
        std::condition_variable changed{};
    };

    template <class Wait>
    std::optional<T> meet(T mine, Wait wait) {
        std::unique_lock lock(mutex_);
        if (closed_) {
            return std::nullopt;
        }
        if (offer* const partner = std::exchange(waiting_, nullptr)) {
            std::swap(mine, partner->item);
            partner->done = true;
            partner->changed.notify_one();
            return mine;
        }
        offer ours{.item = std::move(mine)};
        waiting_ = &ours;
        wait(ours, lock, [&] { return ours.done || closed_; });
        if (ours.done) {
            return std::move(ours.item);
        }
        waiting_ = nullptr;
        return std::nullopt;
    }

    std::mutex mutex_;
    offer* waiting_ = nullptr;
    bool closed_ = false;
};

} // namespace tryst::bench
