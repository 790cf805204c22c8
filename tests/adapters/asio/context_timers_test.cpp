// SPDX-License-Identifier: MIT
// The timers of an execution context: when they fire, and how long they keep the context at work.
#include "adapters/asio/net.hpp"

#include <tryst/asio.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <utility>

namespace {

using namespace std::chrono_literals;
using tryst::timer_node;
namespace net = tryst::test::net;

/// A timer that calls a function.
struct test_timer : timer_node {
    explicit test_timer(
        std::chrono::nanoseconds from_now, std::function<void()> function = [] {})
        : call(std::move(function)) {
        deadline = time_point::clock::now() + from_now;
        fire = [](timer_node* node) noexcept { static_cast<test_timer*>(node)->call(); };
    }
    std::function<void()> call;
};

/// What `context_timers` needs of a `work_queue`.
struct post_queue {
    template <class Function>
    void push(Function function, bool /*continues*/) {
        net::post(*io, std::move(function));
    }
    net::io_context* io;
};

class AsioContextTimers : public testing::Test {
protected:
    ~AsioContextTimers() override { timers.shutdown(); }

    void arm(test_timer& timer) { timers.arm(&timer); }
    void disarm(test_timer& timer) { timers.disarm(&timer, post_queue{&io}); }

    /// Whether the context has no work, after the passes that the alarm may idle.
    bool is_idle() {
        io.restart();
        io.poll();
        return io.stopped();
    }

    net::io_context io;
    tryst::asio::detail::context_timers timers{io};
};

TEST_F(AsioContextTimers, KeepTheContextAtWorkOnlyWhileOneIsArmed) {
    test_timer first(1h);
    test_timer second(2h);
    arm(first);
    arm(second);
    EXPECT_FALSE(is_idle());
    disarm(first);
    EXPECT_FALSE(is_idle());
    disarm(second);
    EXPECT_TRUE(is_idle());
}

TEST_F(AsioContextTimers, FireWhenTheyAreDueAlthoughTheAlarmWasSetForAnother) {
    int fired = 0;
    test_timer late(1ns, [&] { ++fired; });
    test_timer later(1h);
    arm(later);
    arm(late);
    while (fired == 0) {
        io.run_one(); // at first the alarm that was replaced
    }
    disarm(later);
    EXPECT_TRUE(is_idle());
}

} // namespace
