// SPDX-License-Identifier: MIT
#include "probe.hpp"

#include <algorithm>
#include <barrier>
#include <ctime>

namespace tryst::probe {

spread spread_of(int samples, const std::function<double()>& sample) {
    sample();
    std::vector<double> all;
    for (int i = 0; i != samples; ++i) {
        all.push_back(sample());
    }
    std::ranges::sort(all);
    return {all[all.size() / 2], all.front(), all.back()};
}

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

} // namespace tryst::probe
