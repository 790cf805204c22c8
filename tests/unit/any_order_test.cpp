// SPDX-License-Identifier: MIT
// Exchangers and channels without an order: the programs that users write first, and how long a
// waiter can be overtaken.
#include <tryst/detail/meet/dual_queue.hpp>
#include <tryst/detail/meet/protocol.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/synchronous_channel.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {

using unordered_arena = detail::basic_arena<detail::unordered_dual_queue>;
using unordered_protocol = detail::protocol<detail::unordered_dual_queue>;

template <unordered_arena unordered_protocol::* Arena>
struct opened_protocol {
    friend unordered_arena& arena_of(unordered_protocol& p) noexcept { return p.*Arena; }
};
unordered_arena& arena_of(unordered_protocol& p) noexcept;
template struct opened_protocol<&unordered_protocol::arena_>;

} // namespace tryst::test

namespace {

using tryst::exchange_errc;
using tryst::order;
using tryst::run_loop;
using tryst::sync_wait;
using tryst::synchronous_channel;
using tryst::task;
using tryst::detail::arrival;
using tryst::detail::colour;
using tryst::detail::item_waiter;

/// While pairs form in the arena, a waiter in the queue is served after 64 arrivals of a thread.
TEST(AnyOrder, BoundsOvertaking) {
    tryst::test::unordered_protocol p(1);
    item_waiter<int, int, colour::red> first(0);
    ASSERT_EQ(p.arrive(first, true), arrival::waiting);
    tryst::test::arena_of(p).grow();

    std::deque<item_waiter<int, int, colour::red>> reds;
    std::deque<item_waiter<int, int, colour::blue>> blues;
    int overtaken = 0;
    while (first.result == tryst::detail::outcome::pending) {
        ASSERT_LE(overtaken, 64);
        auto& red = reds.emplace_back(1);
        auto& blue = blues.emplace_back(2);
        const arrival where = p.arrive(red, true);
        if (p.arrive(blue, true) == arrival::completed && where == arrival::offered &&
            red.state.is_done()) {
            ++overtaken;
        }
    }
    EXPECT_GT(overtaken, 0) << "the arena is used";
    p.close();
}

// ---- Whole programs.

using work = synchronous_channel<int, order::any>;

task<> send_numbers(work& to, int count, std::atomic<int>& senders) {
    for (int i = 0; i != count; ++i) {
        EXPECT_TRUE(co_await to.send(i));
    }
    if (--senders == 0) {
        to.close();
    }
}

task<> receive_numbers(work& from, std::atomic<long>& sum, std::atomic<int>& workers,
                       std::vector<std::unique_ptr<run_loop>>& loops) {
    while (auto got = co_await from.receive()) {
        sum += *got;
    }
    if (--workers == 0) {
        for (auto& each : loops) {
            each->stop();
        }
    }
}

/// Loops with workers, some of them with a sender of work, which stop when all work is done.
void run_pool(std::size_t loop_count, int workers_on_each, std::size_t sender_count) {
    constexpr int count = 2'000;
    work requests;
    std::vector<std::unique_ptr<run_loop>> loops;
    std::atomic<long> sum{0};
    std::atomic<int> senders{static_cast<int>(sender_count)};
    std::atomic<int> workers{workers_on_each * static_cast<int>(loop_count)};
    for (std::size_t i = 0; i != loop_count; ++i) {
        loops.push_back(std::make_unique<run_loop>());
    }
    for (std::size_t i = 0; i != loop_count; ++i) {
        for (int w = 0; w != workers_on_each; ++w) {
            loops[i]->spawn(receive_numbers(requests, sum, workers, loops));
        }
    }
    for (std::size_t i = 0; i != sender_count; ++i) {
        loops[i % loop_count]->spawn(send_numbers(requests, count, senders));
    }
    std::vector<std::thread> threads;
    for (auto& each : loops) {
        threads.emplace_back([&loop = *each] { loop.run(); });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    EXPECT_EQ(sum, static_cast<long>(sender_count) * count * (count - 1) / 2);
}

TEST(AnyOrderPrograms, APoolOfIdleWorkersServesEachRequest) {
    run_pool(3, 15, 1);
    run_pool(3, 15, 6);
}

TEST(AnyOrderPrograms, ManyRequestsWaitForFewWorkers) {
    run_pool(3, 1, 60);
}

TEST(AnyOrderPrograms, OneThreadSendsAndReceives) {
    run_pool(1, 1, 1);
    run_pool(1, 4, 4);
}

/// Buffers that go round: a keeper hands out a free one, and takes one back.
TEST(AnyOrderPrograms, BuffersAreNeitherLostNorDoubled) {
    using buffers = synchronous_channel<std::unique_ptr<int>, order::any>;
    constexpr int users = 4;
    constexpr int rounds = 1'000;
    buffers free;
    buffers used;
    int uses = 0;
    std::thread keepers([&] {
        run_loop loop;
        for (int i = 0; i != 2; ++i) {
            loop.spawn([](auto& out, auto& in, int& total, run_loop& on) -> task<> {
                auto mine = std::make_unique<int>(0);
                while (true) {
                    auto sent = co_await out.send(std::move(mine));
                    if (!sent) {
                        mine = std::move(sent).returned();
                        break;
                    }
                    auto got = co_await in.receive();
                    mine = *std::move(got);
                }
                total += *mine;
                on.stop();
            }(free, used, uses, loop));
        }
        loop.run();
        loop.run_until_idle();
    });
    std::vector<std::thread> threads;
    for (int i = 0; i != users; ++i) {
        threads.emplace_back([&] {
            sync_wait([](auto& from, auto& to) -> task<> {
                for (int round = 0; round != rounds; ++round) {
                    auto got = co_await from.receive();
                    auto mine = *std::move(got);
                    ++*mine;
                    EXPECT_TRUE(co_await to.send(std::move(mine)));
                }
            }(free, used));
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    free.close();
    keepers.join();
    EXPECT_EQ(uses, users * rounds);
}

/// Wrong, but harmless: parties of one colour only. They end with the channel.
TEST(AnyOrderPrograms, SendersWithoutReceiversEndWithTheChannel) {
    std::vector<std::thread> threads;
    std::atomic<int> closed{0};
    {
        work nobody_receives;
        std::atomic<int> begun{0};
        for (int i = 0; i != 4; ++i) {
            threads.emplace_back([&] {
                auto offer = nobody_receives.send(i);
                ++begun;
                closed += sync_wait(std::move(offer)).error() == exchange_errc::closed;
            });
        }
        while (begun != 4) {
            std::this_thread::yield();
        }
        nobody_receives.close();
        for (std::thread& each : threads) {
            each.join();
        }
    }
    EXPECT_EQ(closed, 4);
}

TEST(AnyOrderPrograms, AStopEndsAWaitForWork) {
    work requests;
    std::stop_source stop;
    std::thread worker([&, token = stop.get_token()] {
        const auto got = sync_wait(requests.receive(token));
        EXPECT_EQ(got.error(), exchange_errc::cancelled);
    });
    stop.request_stop();
    worker.join();
    EXPECT_EQ(requests.try_send(1).error(), exchange_errc::no_partner);
}

} // namespace
