// SPDX-License-Identifier: MIT
/// @file
/// The family of plain threads. They are pinned only to measure latency.
#pragma once

#include "bodies.hpp"

#include <tryst/sync_wait.hpp>

#include <functional>
#include <utility>
#include <vector>

namespace tryst::bench {

class threads {
public:
    using bodies = blocking_bodies<threads>;
    static constexpr bool of_threads = true;

    explicit threads(unsigned count, bool pinned = false) : bodies_(count), pinned_(pinned) {}

    /// Returns the result of an operation of tryst; other operations have blocked by themselves.
    template <class Operation>
    static decltype(auto) wait(Operation&& operation) {
        if constexpr (requires { sync_wait(std::forward<Operation>(operation)); }) {
            return sync_wait(std::forward<Operation>(operation));
        } else {
            return std::decay_t<Operation>(std::forward<Operation>(operation));
        }
    }

    std::size_t size() const noexcept { return bodies_.size(); }
    bool pinned() const noexcept { return pinned_; }
    void spawn(unsigned thread, std::function<void()> body) { bodies_[thread] = std::move(body); }
    void run(unsigned thread) { bodies_[thread](); }
    void stop() {}
    void settle() {}

private:
    std::vector<std::function<void()>> bodies_;
    bool pinned_;
};

} // namespace tryst::bench
