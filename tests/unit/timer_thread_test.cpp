// SPDX-License-Identifier: MIT
#include <tryst/detail/run/timer_thread.hpp>

#include <tryst/exchanger.hpp>

#include "support/bare_coroutine.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>
#include <vector>

namespace {

using tryst::timer_node;
using tryst::detail::timer_thread;
using tryst::test::bare_coroutine;
using clock = tryst::detail::clock;
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

/// Returns when what the timer thread is firing now has returned.
void let_it_finish() {
    std::latch rung(1);
    bell timer(rung, clock::now());
    timer_thread::instance().arm(&timer);
    rung.wait();
    timer_thread::instance().disarm(&timer);
}

struct wait_report {
    explicit wait_report(clock::time_point limit) : deadline(limit) {}
    clock::time_point deadline;
    clock::time_point ended;
    std::error_code error;
    int item = 0;
    std::latch done{1};
};

bare_coroutine wait_until(tryst::exchanger<int>& ex, int item, wait_report& report) {
    auto got = co_await ex.exchange(item, report.deadline);
    report.ended = clock::now();
    report.error = got.error();
    report.item = got ? *got : got.returned();
    report.done.count_down();
}

} // namespace

TEST(TimerThread, FiresAtTheDeadlineAndNotBefore) {
    std::latch rung(1);
    bell timer(rung, clock::now() + 3ms);
    timer_thread::instance().arm(&timer);
    rung.wait();
    timer_thread::instance().disarm(&timer);
    EXPECT_GE(timer.fired_at, timer.deadline);
}

TEST(TimerThread, FiresADeadlineThatHasPassed) {
    std::latch rung(1);
    bell timer(rung, clock::now() - 1h);
    timer_thread::instance().arm(&timer);
    rung.wait();
    timer_thread::instance().disarm(&timer);
}

TEST(TimerThread, WakesForADeadlineEarlierThanTheOneItSleepsOn) {
    std::latch never(1);
    bell late(never, clock::now() + 24h);
    timer_thread::instance().arm(&late);
    for (int round = 0; round != 5; ++round) {
        std::latch first(1);
        bell early(first, clock::now() + 1ms);
        timer_thread::instance().arm(&early);
        first.wait(); // would take a day, were `late` still what it sleeps on
        timer_thread::instance().disarm(&early);
    }
    timer_thread::instance().disarm(&late);
    EXPECT_FALSE(never.try_wait());
}

TEST(TimerThread, FiresManyInTheOrderOfTheirDeadlines) {
    constexpr int count = 50;
    std::latch rung(count);
    std::vector<bell> bells;
    bells.reserve(count);
    // The timers are armed before the first deadline, even if this thread loses its processor.
    const auto start = clock::now() + 500ms;
    for (int i = 0; i != count; ++i) {
        bells.emplace_back(rung, start + std::chrono::microseconds(i * 17 % count * 20));
    }
    for (bell& timer : bells) {
        timer_thread::instance().arm(&timer);
    }
    rung.wait();
    for (bell& timer : bells) {
        timer_thread::instance().disarm(&timer);
    }
    for (const bell& a : bells) {
        EXPECT_GE(a.fired_at, a.deadline);
        for (const bell& b : bells) {
            if (a.deadline < b.deadline) {
                EXPECT_LE(a.fired_at, b.fired_at);
            }
        }
    }
}

TEST(TimerThread, DoesNotFireWhatWasDisarmed) {
    bool in_time = false;
    while (!in_time) { // on a slow machine the deadline may pass before we can disarm
        std::latch disarmed_rung(1);
        std::latch rung(1);
        const auto deadline = clock::now() + 2ms;
        bell disarmed(disarmed_rung, deadline);
        bell later(rung, deadline + 1us);
        timer_thread::instance().arm(&disarmed);
        timer_thread::instance().arm(&later);
        timer_thread::instance().disarm(&disarmed);
        in_time = clock::now() < deadline;
        rung.wait();
        timer_thread::instance().disarm(&later);
        EXPECT_TRUE(!in_time || !disarmed_rung.try_wait());
    }
}

TEST(TimerThread, DisarmWaitsForAFireInProgress) {
    for (int round = 0; round != 200; ++round) {
        slow_bell timer;
        timer_thread::instance().arm(&timer);
        timer.entered.wait();
        std::thread releaser([&timer] { timer.go_on.count_down(); });
        timer_thread::instance().disarm(&timer);
        ASSERT_TRUE(timer.finished);
        releaser.join();
    }
}

TEST(TimerThread, DisarmDoesNotWaitForTheFireOfAnotherNode) {
    slow_bell busy;
    timer_thread::instance().arm(&busy);
    busy.entered.wait();
    std::latch never(1);
    bell other(never, clock::now() + 24h);
    timer_thread::instance().arm(&other);
    timer_thread::instance().disarm(&other); // would wait for ever
    busy.go_on.count_down();
    timer_thread::instance().disarm(&busy);
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
        timer_thread::instance().disarm(node);
        if (--self.left == 0) {
            self.done.count_down();
        } else {
            self.deadline = clock::now();
            timer_thread::instance().arm(node);
        }
    };
    timer_thread::instance().arm(&timer);
    timer.done.wait();
    timer_thread::instance().disarm(&timer);
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
        timer_thread::instance().arm(new suicidal(rung));
        rung.wait();
        let_it_finish();
    }
}

TEST(TimerThread, TimesABareCoroutineOutAndNeverEarly) {
    tryst::exchanger<int> ex;
    for (const auto patience : {0us, 50us, 500us, 3000us}) {
        wait_report report(clock::now() + patience);
        const bare_coroutine waiting = wait_until(ex, 7, report);
        report.done.wait();
        let_it_finish();
        EXPECT_TRUE(waiting.done());
        EXPECT_EQ(report.error, tryst::exchange_errc::timed_out);
        EXPECT_EQ(report.item, 7);
        EXPECT_GE(report.ended, report.deadline);
    }
}

TEST(TimerThread, LeavesABareCoroutineAloneWhosePartnerCame) {
    tryst::exchanger<int> ex;
    wait_report report(clock::now() + 24h);
    const bare_coroutine waiting = wait_until(ex, 7, report);
    auto got = ex.try_exchange(8);
    ASSERT_TRUE(got);
    EXPECT_EQ(*got, 7);
    EXPECT_TRUE(waiting.done()) << "the partner resumes it inline";
    EXPECT_EQ(report.item, 8);
    EXPECT_FALSE(report.error);
}

TEST(TimerThread, ForgetsABareCoroutineThatIsDestroyedWhileItWaits) {
    tryst::exchanger<int> ex;
    wait_report report(clock::now() + 24h);
    {
        const bare_coroutine waiting = wait_until(ex, 7, report);
    }
    let_it_finish(); // a timer left behind would be compared with this one
    EXPECT_FALSE(report.done.try_wait());
    EXPECT_EQ(ex.try_exchange(8).error(), tryst::exchange_errc::no_partner);
}

TEST(TimerThread, RacesWithPartnersWithoutLosingItems) {
    // The deadline of each bare coroutine is about when its partner comes.
    constexpr int rounds = 1'000;
    tryst::exchanger<int> ex;
    for (int i = 0; i != rounds; ++i) {
        wait_report report(clock::now() + std::chrono::microseconds(5 + i % 100));
        const bare_coroutine waiting = wait_until(ex, 7, report);
        const auto until = report.deadline - 3us;
        while (clock::now() < until) {
        }
        auto got = ex.try_exchange(8);
        report.done.wait();
        let_it_finish();
        ASSERT_EQ(report.item, got ? 8 : 7);
        ASSERT_EQ(got ? *got : got.returned(), got ? 7 : 8);
        ASSERT_EQ(!report.error, got.has_value());
    }
}
