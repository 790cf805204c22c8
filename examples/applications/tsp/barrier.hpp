// SPDX-License-Identifier: MIT
/// @file
/// A std::barrier for coroutines on loops: while a coroutine waits, its thread runs others.
#pragma once

#include <tryst/executor.hpp>
#include <tryst/run_loop.hpp>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

namespace tsp {

/// Counts loops, not coroutines: each thread synchronises once for all of its coroutines.
class barrier {
public:
    /// The coroutines of one loop.
    class group : private tryst::executor_node {
    public:
        group(barrier& all, tryst::run_loop& loop, std::size_t members)
            : all_(all), loop_(loop), members_(members) {
            waiting_.reserve(members);
            resumed_.reserve(members);
            run = [](executor_node* node) noexcept { static_cast<group*>(node)->resume(); };
        }

        /// Waits until all members of all groups have arrived, and the completion has run.
        /// @resumes on the group's loop.
        auto arrive() noexcept {
            struct arrival {
                group& mine;
                bool await_ready() const noexcept { return false; }
                void await_suspend(std::coroutine_handle<> coroutine) const { mine.add(coroutine); }
                void await_resume() const noexcept {}
            };
            return arrival{*this};
        }

        /// A member ends. The last member stops the loop.
        void leave() noexcept {
            if (--members_ == 0) {
                loop_.stop();
            }
        }

    private:
        friend barrier;

        void add(std::coroutine_handle<> coroutine) {
            waiting_.push_back(coroutine);
            if (waiting_.size() == members_) {
                all_.group_has_arrived();
            }
        }

        void resume() noexcept {
            resumed_.swap(waiting_); // a resumed coroutine may arrive again
            for (const std::coroutine_handle<> each : resumed_) {
                each.resume();
            }
            resumed_.clear();
        }

        barrier& all_;
        tryst::run_loop& loop_;
        std::size_t members_;
        std::vector<std::coroutine_handle<>> waiting_;
        std::vector<std::coroutine_handle<>> resumed_;
    };

    explicit barrier(std::function<void()> completion) : completion_(std::move(completion)) {}

    /// Call it before the first arrival.
    group& add_group(tryst::run_loop& loop, std::size_t members) {
        missing_.fetch_add(1, std::memory_order_relaxed);
        return groups_.emplace_back(*this, loop, members);
    }

private:
    void group_has_arrived() {
        // acq_rel, pairs with itself: all arrivals happen-before the completion. `post` makes the
        // completion happen-before the resumptions.
        if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) {
            return;
        }
        completion_();
        missing_.store(groups_.size(), std::memory_order_relaxed);
        for (group& each : groups_) {
            each.loop_.post(&each);
        }
    }

    std::function<void()> completion_;
    std::deque<group> groups_; // a deque does not move its elements
    std::atomic<std::size_t> missing_{0};
};

} // namespace tsp
