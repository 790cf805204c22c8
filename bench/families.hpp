// SPDX-License-Identifier: MIT
/// @file
/// The families of tasks on tryst's loops, and of plain threads.
#pragma once

#include "bodies.hpp"

#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>

#include <coroutine>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
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
    using task = tryst::task<>;

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

/// One party each; they are pinned only to measure latency.
class threads {
public:
    using task = blocking_task;

    explicit threads(unsigned count, bool pinned = false) : starts_(count), pinned_(pinned) {}

    /// Blocks in an operation of tryst; other operations have blocked by themselves.
    template <class Operation>
    static auto wait(Operation&& operation) {
        if constexpr (requires { sync_wait(std::forward<Operation>(operation)); }) {
            return ready{sync_wait(std::forward<Operation>(operation))};
        } else {
            return ready{std::forward<Operation>(operation)};
        }
    }

    std::size_t size() const noexcept { return starts_.size(); }
    bool pinned() const noexcept { return pinned_; }
    void spawn(unsigned thread, std::function<task()> start) { starts_[thread] = std::move(start); }
    void run(unsigned thread) { starts_[thread](); }
    void stop() {}
    void settle() {}

private:
    std::vector<std::function<task()>> starts_;
    bool pinned_;
};

} // namespace tryst::bench
