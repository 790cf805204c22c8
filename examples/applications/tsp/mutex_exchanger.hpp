// SPDX-License-Identifier: MIT
/// @file
/// The rival: an exchanger in which threads wait.
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
    /// @returns the partner's item, or nothing if none came.
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
        std::condition_variable
            arrived{}; // of its own: whoever is paired is the only one to be woken
    };

    std::mutex mutex_;
    offer* waiting_ = nullptr;
};

} // namespace tsp
