// SPDX-License-Identifier: MIT
/// @file
/// The rival of the paper: an exchanger of one mutex, and a condition variable for each waiter.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace tryst::bench {

/// java.util.concurrent.Exchanger in the style of Java SE 5, without its flaw of waking the wrong
/// thread (the paper's section 4.2 measures against such a corrected version, too).
template <class T>
class mutex_exchanger {
public:
    /// @returns the partner's item; nothing if `patience` (if any) ran out, or after `close`.
    std::optional<T> exchange(T item, std::optional<std::chrono::nanoseconds> patience = {}) {
        std::unique_lock lock(mutex_);
        if (closed_) {
            return std::nullopt;
        }
        if (waiting_ != nullptr) {
            party& partner = *std::exchange(waiting_, nullptr);
            std::swap(item, partner.item);
            partner.done = true;
            partner.changed.notify_one();
            return item;
        }
        party me{std::move(item), {}, false};
        waiting_ = &me;
        const auto over = [&] { return me.done || closed_; };
        if (patience) {
            me.changed.wait_for(lock, *patience, over);
        } else {
            me.changed.wait(lock, over);
        }
        if (me.done) {
            return std::move(me.item);
        }
        waiting_ = nullptr;
        return std::nullopt;
    }

    void close() {
        const std::scoped_lock lock(mutex_);
        closed_ = true;
        if (waiting_ != nullptr) {
            waiting_->changed.notify_one();
        }
    }

private:
    struct party {
        T item;
        std::condition_variable changed;
        bool done;
    };

    std::mutex mutex_;
    party* waiting_ = nullptr;
    bool closed_ = false;
};

} // namespace tryst::bench
