// SPDX-License-Identifier: MIT
// A party that is held wherever it may be, by a debugger, by SIGSTOP or because it has lost its
// processor: the others go on, and need no more memory for that.

namespace tryst::test {
/// The calling thread has come to a step of the protocol.
void come_to(const char* step) noexcept;
} // namespace tryst::test
#define TRYST_TRACE(step, ...) ::tryst::test::come_to(#step)

#include "support/counted_memory.hpp"

#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <ostream>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>

#ifdef __linux__
#include <pthread.h>
#include <time.h>
#endif

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

/// Holds the thread that it belongs to where it comes to a step for the n-th time.
class hold {
public:
    explicit hold(std::string step, int n = 1) : step_(std::move(step)), n_(n) {}

    void come_to(const char* step) noexcept {
        if (step_ == step && --n_ == 0) {
            held_.store(true, std::memory_order_release);
            released_.acquire();
        }
    }
    bool is_held() const noexcept { return held_.load(std::memory_order_acquire); }
    void release() noexcept { released_.release(); }

private:
    std::string step_;
    int n_;
    std::atomic<bool> held_{false};
    std::binary_semaphore released_{0};
};
thread_local hold* of_this_thread = nullptr;

template <class Ready>
void until(Ready ready) {
    while (!ready()) {
        std::this_thread::sleep_for(1ms);
    }
}

using channel = synchronous_channel<int, order::fifo>;

task<> send_over_and_over(channel& ch, std::atomic<long>& done) {
    while (true) {
        const auto sent = co_await ch.send(1);
        if (!sent) {
            EXPECT_EQ(sent.error(), exchange_errc::closed);
            co_return;
        }
        done.fetch_add(1, std::memory_order_relaxed);
    }
}

task<> receive_over_and_over(channel& ch) {
    while (true) {
        const auto got = co_await ch.receive();
        if (!got) {
            EXPECT_EQ(got.error(), exchange_errc::closed);
            co_return;
        }
    }
}

task<> receive_in_vain(channel& ch, std::atomic<long>& done) {
    while (true) {
        const auto got = co_await ch.receive(1ns);
        if (!got && got.error() == exchange_errc::closed) {
            co_return;
        }
        EXPECT_TRUE(got || got.error() == exchange_errc::timed_out);
        done.fetch_add(1, std::memory_order_relaxed);
    }
}

/// What the others do while one is held.
void meet(run_loop& loop, channel& ch, std::atomic<long>& done) {
    for (int i = 0; i != 4; ++i) {
        loop.spawn(send_over_and_over(ch, done));
        loop.spawn(receive_over_and_over(ch));
    }
    loop.run_until_idle();
}
void give_up(run_loop& loop, channel& ch, std::atomic<long>& done) {
    loop.spawn(receive_over_and_over(ch)); // whose segment stays
    for (int i = 0; i != 8; ++i) {
        loop.spawn(receive_in_vain(ch, done));
    }
    loop.run();
}

struct situation {
    const char* step;
    void (*others)(run_loop& loop, channel& ch, std::atomic<long>& done);
};
void PrintTo(const situation& of, std::ostream* to) {
    *to << of.step;
}
class HeldParty : public testing::TestWithParam<situation> {};
INSTANTIATE_TEST_SUITE_P(At, HeldParty,
                         testing::Values(situation{"wait_start", meet}, situation{"ticket", meet},
                                         situation{"claim_in_wait_list", meet},
                                         situation{"recycling", meet}, situation{"ticket", give_up},
                                         situation{"withdrawing", give_up},
                                         situation{"sweeping", give_up}),
                         [](const auto& each) {
                             return std::string(each.param.step) +
                                    (each.param.others == meet ? "_meet" : "_give_up");
                         });

TEST_P(HeldParty, CostsTheOthersNoMemory) {
    channel ch;
    std::atomic<long> done{0};
    run_loop loop;
    std::jthread others([&] { GetParam().others(loop, ch, done); });
    hold at(GetParam().step);
    std::jthread held([&] {
        of_this_thread = &at;
        while (!ch.is_closed()) {
            static_cast<void>(ch.try_send(2));
            static_cast<void>(sync_wait(ch.receive(10us)));
        }
    });
    until([&] { return at.is_held(); });
    const std::size_t before = allocated_bytes;
    until([&, from = done.load()] { return done - from > 100'000; });
    // One who is held keeps a segment or two. Nobody who takes them out: 1 MB and more.
    EXPECT_LE(allocated_bytes - before, 40'000U);
    ch.close();
    loop.stop();
    at.release();
}

#ifdef __linux__
// A thread of lower priority gets the processor only if whoever waits for it sleeps.
TEST(HeldSelection, LetsThoseWhoWaitForItSleep) {
    std::array<channel, 2> ch; // registered in the order of their addresses
    hold at("wait_start", 2);
    std::jthread selects([&] {
        of_this_thread = &at;
        auto got = sync_wait(select(ch[0].receive(), ch[1].receive()));
        EXPECT_TRUE(got);
    });
    until([&] { return at.is_held(); });
    std::atomic<clockid_t> clock_of_sender{-1};
    std::jthread sends([&] {
        clockid_t mine = -1;
        pthread_getcpuclockid(pthread_self(), &mine);
        clock_of_sender = mine;
        EXPECT_TRUE(ch[0].try_send(1));
    });
    until([&] { return clock_of_sender != -1; });
    std::this_thread::sleep_for(300ms);
    timespec used{};
    clock_gettime(clock_of_sender, &used);
    EXPECT_LT(std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec), 100ms);
    at.release();
}
#endif

} // namespace

void come_to(const char* step) noexcept {
    if (of_this_thread != nullptr) {
        of_this_thread->come_to(step);
    }
}

} // namespace tryst::test
