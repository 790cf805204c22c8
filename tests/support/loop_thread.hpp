// SPDX-License-Identifier: MIT
/// @file
/// A thread that does nothing but run a loop.
#pragma once

#include <tryst/run_loop.hpp>

#include <thread>

namespace tryst::test {

/// Runs its loop from construction to `join`.
class loop_thread {
public:
    explicit loop_thread(run_loop_options options = {}) : loop_(options) {}
    loop_thread(const loop_thread&) = delete;
    loop_thread& operator=(const loop_thread&) = delete;
    ~loop_thread() { join(); }

    run_loop& operator*() noexcept { return loop_; }
    run_loop* operator->() noexcept { return &loop_; }

    /// The loop first runs what was queued before.
    void join() {
        if (thread_.joinable()) {
            loop_.stop();
            thread_.join();
        }
    }

private:
    run_loop loop_;
    std::thread thread_{[this] { loop_.run(); }};
};

} // namespace tryst::test
