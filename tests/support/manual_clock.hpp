// SPDX-License-Identifier: MIT
/// @file
/// A clock that a test moves by hand.
#pragma once

#include <tryst/run_loop.hpp>

namespace tryst::test {

/// Copies show the same time.
class manual_clock {
public:
    using time_point = timer_node::time_point;
    using duration = time_point::duration;

    /// The time that copies of a clock share.
    struct dial {
        time_point time{std::chrono::hours(1)};
    };

    explicit manual_clock(dial& shared) noexcept : dial_(&shared) {}

    time_point now() const noexcept { return dial_->time; }

private:
    dial* dial_;
};

using manual_loop = basic_run_loop<manual_clock>;

/// A loop whose time stands still until `advance`.
class timed_loop {
public:
    manual_loop& operator*() noexcept { return loop_; }
    manual_loop* operator->() noexcept { return &loop_; }

    manual_clock::time_point now() const noexcept { return dial_.time; }

    /// Moves the clock, and runs what becomes ready.
    void advance(manual_clock::duration by) {
        dial_.time += by;
        loop_.run_until_idle();
    }

private:
    manual_clock::dial dial_;
    manual_loop loop_{{}, manual_clock(dial_)};
};

} // namespace tryst::test
