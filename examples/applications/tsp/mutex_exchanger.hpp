// SPDX-License-Identifier: MIT
/// @file
/// A baseline for comparison: an exchanger in which threads block.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace tsp {

template <class T>
class mutex_exchanger {
public:
    /// @returns the partner's item, or nullopt if no partner came in time.
    std::optional<T> exchange_for(T mine, std::chrono::nanoseconds patience) {
        std::unique_lock lock(mutex_);
        if (offer* const partner = std::exchange(waiting_, nullptr)) {
            partner->received = mine;
            partner->arrived.notify_one();
            return partner->given;
        }
        offer ours{.given = mine};
        waiting_ = &ours;
        if (!ours.arrived.wait_for(lock, patience, [&] { return ours.received.has_value(); })) {
            waiting_ = nullptr;
        }
        return ours.received;
    }

private:
    struct offer {
        T given;
        std::optional<T> received{};
        std::condition_variable arrived{}; // one per offer, so only the paired thread is woken
    };

    std::mutex mutex_;
    offer* waiting_ = nullptr;
};

} // namespace tsp
