// SPDX-License-Identifier: MIT
/// @file
/// What the operating system does for model threads: sleep, wake-ups and the time.
#pragma once

#include "model/shared_object.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tryst::model {

using instant = std::int64_t; ///< Nanoseconds of the model's clock.
inline constexpr instant never = std::numeric_limits<instant>::max();

/// One in each execution.
class kernel {
public:
    /// A futex wait: sleeps until a `wake`, the deadline, or for no reason; not at all if the
    /// atomic does not hold `seen`.
    void sleep(const unsigned* atomic, word seen, instant deadline, site where);
    /// A futex wake of one sleeper. `atomic` may be dead.
    void wake(const unsigned* atomic, site where);

    instant now(site where);
    /// Moves the time on, as a step of the calling thread.
    void advance(instant to, site where);
    /// The time, to be used where a thread waits for it; no step.
    instant time() const noexcept { return time_; }
    shared_object& clock() noexcept { return clock_; }

private:
    struct sleeper {
        const unsigned* atomic;
        bool woken;
    };

    shared_object futexes_;
    shared_object clock_;
    instant time_ = 1'000;
    std::array<sleeper, max_threads> sleepers_{}; // by thread
};

} // namespace tryst::model
