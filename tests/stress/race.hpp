// SPDX-License-Identifier: MIT
/// @file
/// Two threads that start at the same instant, over and over: what a race needs.
#pragma once

#include "stress/step_counts.hpp"

#include <tryst/detail/platform/atomic.hpp>

#include <atomic>
#include <random>
#include <thread>

namespace tryst::test {

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

/// Runs `play(race, line)` and `there(race)` at once, over and over, each time on a new race from
/// `make`, until the time is up and nothing `is_missing` any more. `play` meets the other thread at
/// the line at the right moment. `ended()` then checks. @returns early if it returns false.
template <class Make, class Missing, class Play, class There, class Ended>
void race_for_a_while(Make make, Missing is_missing, Play play, There there, Ended ended) {
    using race = decltype(make());
    starting_line line;
    std::atomic<race*> current{nullptr};
    std::atomic<bool> over{false};
    std::thread other([&] {
        std::minstd_rand jitter(2);
        while (line.meet(), !over.load(std::memory_order_relaxed)) {
            // Any order of magnitude up to some 100 us: what it takes depends on the race.
            for (auto i = jitter() % (1U << jitter() % 12); i != 0; --i) {
                detail::spin_pause();
            }
            there(*current.load(std::memory_order_relaxed));
            line.meet();
        }
    });
    const stress_time time;
    for (bool good = true; good && time.goes_on(is_missing);) {
        {
            race r = make();
            current.store(&r, std::memory_order_relaxed);
            play(r, line);
        }
        good = ended();
    }
    over.store(true, std::memory_order_relaxed);
    line.meet();
    other.join();
}

} // namespace tryst::test
