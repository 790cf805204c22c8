// SPDX-License-Identifier: MIT
#include "probe.hpp"

#include <tryst/detail/run/parker.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace tryst::probe {
namespace {

constexpr std::int64_t rounds = 2'000;

/// Two threads wake each other; half a round trip. `Bed` has `wake()` and `sleep()`.
template <class Bed>
double wake(unsigned processor, unsigned other) {
    Bed beds[2];
    const auto body = [&](int mine) {
        for (std::int64_t i = 0; i != rounds / 2; ++i) {
            if (mine == 0) {
                beds[1].wake();
                beds[0].sleep();
            } else {
                beds[1].sleep();
                beds[0].wake();
            }
        }
    };
    return timed_together(processor, other, rounds, [&] { body(0); }, [&] { body(1); });
}

struct futex_bed {
    detail::parker parker;
    void wake() { parker.unpark(); }
    void sleep() { parker.park(); }
};

class eventfd_bed {
public:
    eventfd_bed() : descriptor_(eventfd(0, EFD_CLOEXEC)) {
        if (descriptor_ < 0) {
            fail("eventfd");
        }
    }
    eventfd_bed(const eventfd_bed&) = delete;
    eventfd_bed& operator=(const eventfd_bed&) = delete;
    ~eventfd_bed() { close(descriptor_); }

    void wake() {
        if (eventfd_write(descriptor_, 1) != 0) {
            fail("writing to an eventfd");
        }
    }
    void sleep() {
        eventfd_t count = 0;
        if (eventfd_read(descriptor_, &count) != 0) {
            fail("reading from an eventfd");
        }
    }

private:
    [[noreturn]] static void fail(const char* what) {
        std::perror(what);
        std::abort();
    }
    int descriptor_;
};

/// The waker's side alone: no thread sleeps.
double wake_nobody() {
    detail::parker parker;
    return timed(0, rounds, [&] {
        for (std::int64_t i = 0; i != rounds; ++i) {
            parker.unpark();
        }
    });
}

void yield_for_a_while() {
    for (std::int64_t i = 0; i != rounds; ++i) {
        detail::yield_thread();
    }
}

} // namespace

void add_kernel(std::vector<step>& into) {
    unsigned processors = 1;
    const auto add = [&](const char* key, const char* what, auto sample) {
        into.emplace_back(processors, key, what, sample);
    };
    add("yield", "a thread yields, and no other thread runs",
        [] { return timed(0, rounds, yield_for_a_while); });
    add("context_switch", "one switch between two threads that yield to each other on one core",
        [] { return timed_together(0, 0, 2 * rounds, yield_for_a_while, yield_for_a_while); });
    add("futex_wake_nobody", "a futex wake-up without a sleeping thread", wake_nobody);
    add("futex_wake_here", "a futex wake-up of a thread on the same core",
        [] { return wake<futex_bed>(0, 0); });
    add("eventfd_wake_here", "an eventfd wake-up of a thread on the same core",
        [] { return wake<eventfd_bed>(0, 0); });
    if (std::thread::hardware_concurrency() > 1) {
        processors = 2;
        add("futex_wake", "a futex wake-up of a thread on another core",
            [] { return wake<futex_bed>(0, 1); });
        add("eventfd_wake", "an eventfd wake-up of a thread on another core",
            [] { return wake<eventfd_bed>(0, 1); });
    }
}

} // namespace tryst::probe
