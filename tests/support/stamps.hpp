// SPDX-License-Identifier: MIT
/// @file
/// The order of what is recorded in a history, and intervals of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#define TRYST_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TRYST_TEST_TSAN 1
#endif
#endif

namespace tryst::test {

/// A point in the order of all that is recorded.
using stamp = std::uint64_t;
inline constexpr stamp never = std::numeric_limits<stamp>::max();

class stamp_clock {
public:
    /// The next stamp.
    stamp tick() noexcept { return next_.fetch_add(1, order); }

private:
    // Acquire and release: a thread that draws a later stamp sees what was done before the earlier
    // one, so the order of stamps is a real one. Relaxed under ThreadSanitizer, which would
    // otherwise see no race between operations; it runs where the instruction is a full barrier in
    // any case.
#ifdef TRYST_TEST_TSAN
    static constexpr auto order = std::memory_order_relaxed;
#else
    static constexpr auto order = std::memory_order_acq_rel;
#endif

    std::atomic<stamp> next_{1};
};

/// When something was so, for certain.
class cover {
public:
    /// Two that have a moment in common are one, if `joined`. In the order of `from`.
    void add(stamp from, stamp until, bool joined) {
        if (!spans_.empty() && (joined ? from : until) <= spans_.back().second) {
            spans_.back().second = std::max(spans_.back().second, until);
        } else {
            spans_.emplace_back(from, until);
        }
    }

    /// Whether all of it is within one.
    bool contains(stamp from, stamp until) const {
        const auto after =
            std::ranges::upper_bound(spans_, from, {}, &std::pair<stamp, stamp>::first);
        return after != spans_.begin() && std::prev(after)->second >= until;
    }

private:
    std::vector<std::pair<stamp, stamp>> spans_; // both ends ascend
};

} // namespace tryst::test
