// SPDX-License-Identifier: MIT
/// @file
/// The family of tasks on tryst's loops.
#pragma once

#include "bodies.hpp"

#include <tryst/run_loop.hpp>
#include <tryst/task.hpp>

#include <coroutine>
#include <cstddef>
#include <memory>
#include <vector>

namespace tryst::bench {

/// Awaits an operation by reference, because g++ 12 would copy a reference that a function returns.
template <class Operation>
struct by_reference {
    Operation& operation;

    bool await_ready() noexcept { return operation.await_ready(); }
    template <class Promise>
    auto await_suspend(std::coroutine_handle<Promise> waiting) noexcept {
        return operation.await_suspend(waiting);
    }
    auto await_resume() noexcept { return operation.await_resume(); }
};

class run_loops {
public:
    using bodies = coroutine_bodies<run_loops>;
    using task = tryst::task<>;
    static constexpr bool of_threads = false;

    explicit run_loops(unsigned count, bool /*pinned*/ = true, run_loop_options options = {}) {
        for (unsigned i = 0; i != count; ++i) {
            loops_.push_back(std::make_unique<run_loop>(options));
        }
    }

    template <class Operation>
    static by_reference<Operation> wait(Operation&& operation) noexcept {
        return {operation};
    }

    std::size_t size() const noexcept { return loops_.size(); }
    static bool pinned() noexcept { return true; }
    template <class Start>
    void spawn(unsigned loop, Start start) {
        loops_[loop]->spawn(start());
    }
    void run(unsigned loop) { loops_[loop]->run(); }
    void stop() {
        for (auto& each : loops_) {
            each->stop();
        }
    }
    /// Runs all loops on this thread until all tasks wait or have ended.
    void settle() {
        for (std::size_t ran = 1; ran != 0;) {
            ran = 0;
            for (auto& each : loops_) {
                ran += each->run_until_idle();
            }
        }
    }

private:
    std::vector<std::unique_ptr<run_loop>> loops_;
};

} // namespace tryst::bench
