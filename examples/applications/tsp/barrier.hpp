// SPDX-License-Identifier: MIT
/// @file
/// As std::barrier, for coroutines on loops: while one waits, its thread runs others.
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

/// Counts loops rather than coroutines: threads meet once for all the coroutines of theirs.
class barrier {
public:
    /// The coroutines of one loop that meet there.
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

        /// A member is at its end. The last one stops the loop.
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
            resumed_.swap(waiting_); // who is resumed may arrive again
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

    /// Before anybody arrives.
    group& add_group(tryst::run_loop& loop, std::size_t members) {
        missing_.fetch_add(1, std::memory_order_relaxed);
        return groups_.emplace_back(*this, loop, members);
    }

private:
    void group_has_arrived() {
        // acq_rel, with itself: what all have done happens-before the completion; `post` does the rest.
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
    std::deque<group> groups_; // they stay where they are
    std::atomic<std::size_t> missing_{0};
};

} // namespace tsp
