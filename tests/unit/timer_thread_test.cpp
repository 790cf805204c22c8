// SPDX-License-Identifier: MIT
// The thread itself. The waits of coroutines that it ends: end_of_wait_test.cpp, deadline_test.cpp;
// what exit, fork and signals do to it: timer_thread_process_test.cpp.
#include <tryst/detail/run/timer_thread.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <thread>

namespace tryst::test {
namespace {

using detail::clock;
using detail::timer_thread;
using namespace std::chrono_literals;

/// Counts down a latch when it fires, and keeps the time.
struct bell : timer_node {
    bell(std::latch& rung, clock::time_point when) : latch(&rung) {
        deadline = when;
        fire = [](timer_node* node) noexcept {
            auto& self = static_cast<bell&>(*node);
            self.fired_at = clock::now();
            self.latch->count_down();
        };
    }
    std::latch* latch;
    clock::time_point fired_at;
};

/// Stays in its `fire` until it is let go.
struct slow_bell : timer_node {
    slow_bell() {
        deadline = clock::now();
        fire = [](timer_node* node) noexcept {
            auto& self = static_cast<slow_bell&>(*node);
            self.entered.count_down();
            self.go_on.wait();
            self.finished = true;
        };
    }
    std::latch entered{1};
    std::latch go_on{1};
    bool finished = false; // not atomic: disarm must order it
};

void arm(timer_node& timer) {
    timer_thread::instance().arm(&timer);
}
void disarm(timer_node& timer) {
    timer_thread::instance().disarm(&timer);
}

/// Waits for a timer. @returns when it fired.
clock::time_point wait_for_bell(clock::time_point when) {
    std::latch rung(1);
    bell timer(rung, when);
    arm(timer);
    rung.wait();
    disarm(timer);
    return timer.fired_at;
}

TEST(TimerThread, FiresAtTheDeadlineAndNotBefore) {
    const auto deadline = clock::now() + 3ms;
    EXPECT_GE(wait_for_bell(deadline), deadline);
    wait_for_bell(clock::now() - 1h); // which has passed
}

TEST(TimerThread, WakesForADeadlineEarlierThanTheOneItSleepsOn) {
    std::latch never(1);
    bell late(never, clock::now() + 24h);
    arm(late);
    for (int round = 0; round != 5; ++round) {
        wait_for_bell(clock::now() + 1ms); // would take a day, were `late` still what it sleeps on
    }
    disarm(late);
    EXPECT_FALSE(never.try_wait());
}

TEST(TimerThread, DoesNotFireWhatWasDisarmed) {
    bool in_time = false;
    while (!in_time) { // on a slow machine the deadline may pass before we can disarm
        std::latch disarmed_rung(1);
        std::latch rung(1);
        const auto deadline = clock::now() + 2ms;
        bell disarmed(disarmed_rung, deadline);
        bell later(rung, deadline + 1us);
        arm(disarmed);
        arm(later);
        disarm(disarmed);
        in_time = clock::now() < deadline;
        rung.wait();
        disarm(later);
        EXPECT_TRUE(!in_time || !disarmed_rung.try_wait());
    }
}

TEST(TimerThread, DisarmWaitsForAFireInProgress) {
    for (int round = 0; round != 200; ++round) {
        slow_bell timer;
        arm(timer);
        timer.entered.wait();
        std::thread releaser([&timer] { timer.go_on.count_down(); });
        disarm(timer);
        ASSERT_TRUE(timer.finished);
        releaser.join();
    }
}

TEST(TimerThread, DisarmDoesNotWaitForTheFireOfAnotherNode) {
    slow_bell busy;
    arm(busy);
    busy.entered.wait();
    std::latch never(1);
    bell other(never, clock::now() + 24h);
    arm(other);
    disarm(other); // would wait for ever
    busy.go_on.count_down();
    disarm(busy);
    EXPECT_TRUE(busy.finished);
}

TEST(TimerThread, AFireMayDisarmItselfAndArmItselfAgain) {
    struct repeating : timer_node {
        int left = 3;
        std::latch done{1};
    } timer;
    timer.deadline = clock::now();
    timer.fire = [](timer_node* node) noexcept {
        auto& self = static_cast<repeating&>(*node);
        disarm(self);
        if (--self.left == 0) {
            self.done.count_down();
        } else {
            self.deadline = clock::now();
            arm(self);
        }
    };
    arm(timer);
    timer.done.wait();
    disarm(timer);
    EXPECT_EQ(timer.left, 0);
}

TEST(TimerThread, AFireMayEndTheLifeOfItsNode) {
    struct suicidal : timer_node {
        explicit suicidal(std::latch& rung) : latch(&rung) {
            deadline = clock::now();
            fire = [](timer_node* node) noexcept {
                auto* const self = static_cast<suicidal*>(node);
                std::latch& fired = *self->latch;
                delete self;
                fired.count_down();
            };
        }
        std::latch* latch;
    };
    for (int round = 0; round != 20; ++round) {
        std::latch rung(1);
        arm(*new suicidal(rung));
        rung.wait();
        wait_for_bell(clock::now()); // when the node's `fire` has returned
    }
}

} // namespace
} // namespace tryst::test
