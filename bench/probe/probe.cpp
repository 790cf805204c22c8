// SPDX-License-Identifier: MIT
#include "probe.hpp"

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/cpu.hpp>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <ctime>
#include <stdexcept>

namespace tryst::probe {

namespace {
double per_round(steady::duration elapsed, std::int64_t count) {
    return std::chrono::duration<double, std::nano>(elapsed).count() / static_cast<double>(count);
}
} // namespace

steady::duration processor_time() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

double timed(unsigned processor, std::int64_t count, const std::function<void()>& body) {
    steady::duration elapsed{};
    pinned_thread(processor, [&] {
        const auto begin = processor_time();
        body();
        elapsed = processor_time() - begin;
    }).join();
    return per_round(elapsed, count);
}

double timed_together(unsigned one, unsigned other, std::int64_t count,
                      const std::function<void()>& body, const std::function<void()>& companion) {
    std::barrier together(2);
    steady::time_point begin;
    steady::time_point end;
    const std::jthread second = pinned_thread(other, [&] {
        together.arrive_and_wait();
        companion();
        together.arrive_and_wait();
    });
    pinned_thread(one, [&] {
        together.arrive_and_wait();
        begin = steady::now();
        body();
        together.arrive_and_wait();
        end = steady::now();
    }).join();
    return per_round(end - begin, count);
}

double distance_now() {
    constexpr std::uint64_t hops = 1'000;
    alignas(detail::line_pair) std::atomic<std::uint64_t> ball{0};
    const auto play = [&](std::uint64_t turn) {
        for (; turn < hops; turn += 2) {
            while (ball.load(std::memory_order_acquire) != turn) {
                detail::spin_pause();
            }
            ball.store(turn + 1, std::memory_order_release);
        }
    };
    return timed_together(0, 1, hops, [&] { play(0); }, [&] { play(1); });
}

namespace {

double median(std::vector<double>& all) {
    std::ranges::sort(all);
    return all[all.size() / 2];
}

bool is_at(double distance) {
    const double now = distance_now();
    return now > 0.6 * distance && now < 1.5 * distance;
}

double sample_at(double distance, const std::function<double()>& sample) {
    constexpr auto patience = std::chrono::seconds(20);
    const auto begin = steady::now();
    while (steady::now() - begin < patience) {
        if (is_at(distance)) {
            const double ns = sample();
            if (is_at(distance)) {
                return ns;
            }
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }
    throw std::runtime_error("the two processors are not at the distance of the measurements; run "
                             "the probe again, when the machine is quiet, or choose --distance");
}

} // namespace

double usual_distance() {
    std::vector<double> all;
    for (int i = 0; i != 101; ++i) {
        all.push_back(distance_now());
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return median(all);
}

void measure(int samples, double distance, const std::vector<measurement*>& all) {
    std::vector<std::vector<double>> found(all.size());
    for (int round = -1; round != samples; ++round) {
        for (std::size_t i = 0; i != all.size(); ++i) {
            const measurement& each = *all[i];
            const bool anywhere = each.processors == 1 || distance == any_distance;
            const double ns = anywhere ? each.sample() : sample_at(distance, each.sample);
            if (round >= 0) {
                found[i].push_back(ns);
            }
        }
    }
    for (std::size_t i = 0; i != all.size(); ++i) {
        const double middle = median(found[i]);
        all[i]->ns = {middle, found[i].front(), found[i].back()};
    }
}

} // namespace tryst::probe
