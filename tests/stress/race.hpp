// SPDX-License-Identifier: MIT
/// @file
/// Races between two threads about the life of an exchanger, or of a frame that waits there.
#pragma once

#include "stress/step_counts.hpp"
#include "support/history.hpp"
#include "support/tracked.hpp"

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/trace.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {

/// Who keeps which log.
enum party : std::uint8_t { waiter, partner, stopper, destroyer, parties };

/// Lets two threads start at the same instant, again and again. Spinning, because a sleeper starts
/// late.
class starting_line {
public:
    void meet() noexcept {
        const unsigned round = round_.load(std::memory_order_relaxed);
        if (waiting_.fetch_add(1, std::memory_order_acq_rel) == 1) {
            waiting_.store(0, std::memory_order_relaxed);
            round_.store(round + 1, std::memory_order_release);
            return;
        }
        for (int spins = 0; round_.load(std::memory_order_acquire) == round; ++spins) {
            if (spins > 1000) {
                std::this_thread::yield();
            }
        }
    }

private:
    std::atomic<unsigned> round_{0};
    std::atomic<int> waiting_{0};
};

/// @tparam Race  what one race is about; made of the items and the history.
template <class Race>
class Races : public ::testing::Test {
protected:
    struct plan {
        std::function<void(Race&)> prepare; ///< Before the start, on the thread of `here`.
        std::function<void(Race&)> here;
        std::function<void(Race&)> there;
        std::function<void(Race&)> finish; ///< When both have ended, on the thread of `here`.
        std::vector<detail::step> must_take{}; ///< Each at least once.
        std::vector<std::string> must_see{}; ///< What `saw` was called with, likewise.
        bool here_starts = false; ///< `here` comes to the line itself, some time after its start.
    };

    /// Runs `here` and `there` at once, over and over, each time on a new race, until the time is
    /// up and all has happened that must.
    void race_for_a_while(const plan& p) {
        forget_steps();
        std::atomic<Race*> current{nullptr};
        std::atomic<bool> over{false};
        std::thread other([&] {
            std::minstd_rand jitter(2);
            while (line_.meet(), !over.load(std::memory_order_relaxed)) {
                // Any order of magnitude up to some 100 us: what it takes depends on the race.
                for (auto i = jitter() % (1U << jitter() % 12); i != 0; --i) {
                    detail::spin_pause();
                }
                p.there(*current.load(std::memory_order_relaxed));
                line_.meet();
            }
        });
        const stress_time time;
        while (!HasFailure() && time.goes_on([&] { return is_missing(p); })) {
            {
                Race r(items_, record_);
                current.store(&r, std::memory_order_relaxed);
                p.prepare(r);
                if (!p.here_starts) {
                    line_.meet();
                }
                p.here(r);
                line_.meet();
                p.finish(r);
            }
            EXPECT_EQ(record_.violations_at_rest(), "");
            EXPECT_EQ(items_.alive.load(), 0);
            if (!HasFailure()) {
                record_.clear(); // nobody waits any more
            }
        }
        over.store(true, std::memory_order_relaxed);
        line_.meet();
        other.join();
        for (const auto taken : p.must_take) {
            EXPECT_GT(count_of(taken), 0) << "step " << static_cast<int>(taken);
        }
        for (const std::string& outcome : p.must_see) {
            EXPECT_GT(seen_[outcome], 0) << outcome;
        }
    }

    /// On the thread of `here`.
    void saw(const std::string& outcome) { ++seen_[outcome]; }

    void wait_on_loop(task<> waiting) {
        loop_.emplace();
        loop_->spawn(std::move(waiting));
        loop_->run_until_idle();
    }

    /// The loop will die with work in its queue.
    void keep_loop_busy() {
        loop_->spawn([](run_loop& busy) -> task<> {
            while (true) {
                co_await busy.schedule();
            }
        }(*loop_));
    }

    // They outlive the loop of a test that has failed, and the frames in it.
    census items_;
    history record_{parties};
    starting_line line_;
    std::optional<run_loop> loop_;

private:
    bool is_missing(const plan& p) {
        return std::ranges::any_of(p.must_take, [](auto s) { return count_of(s) == 0; }) ||
               std::ranges::any_of(p.must_see, [&](const auto& what) { return seen_[what] == 0; });
    }

    std::map<std::string, long> seen_;
};

} // namespace tryst::test
