// SPDX-License-Identifier: MIT
// Exchangers and channels without an order: the programs that users write first, and how long a
// waiter can be overtaken.
#include "support/opened_arena.hpp"

#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/synchronous_channel.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

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

using red_party = item_waiter<int, int, colour::red>;
using blue_party = item_waiter<int, int, colour::blue>;

using unordered_arena = tryst::detail::basic_arena<tryst::detail::unordered_dual_queue>;

/// Offers a red in the arena, if its place is empty.
void offer_at(unordered_arena& arena, std::uint32_t index, red_party& red) {
    red.place = unordered_arena::place(arena.bound(), index);
    arena.at(index).offer(&red, colour::red);
}

/// Makes blues arrive while a red waits in the queue and others are in the arena.
/// @param arrive  makes one blue arrive, and as many reds as it likes.
/// @returns how many blues have arrived when the waiter has a partner.
template <class Arrive>
int blues_until_served(std::size_t slots, Arrive arrive) {
    tryst::test::unordered_protocol p(slots);
    red_party first(0);
    EXPECT_EQ(p.arrive(first, true), arrival::waiting);
    for (std::size_t i = 0; i != slots; ++i) {
        tryst::test::arena_of(p).grow();
    }
    std::deque<red_party> reds;
    std::deque<blue_party> blues;
    while (first.result == tryst::detail::outcome::pending && blues.size() != 1'000) {
        arrive(p, reds, blues.emplace_back(2));
    }
    p.close();
    return static_cast<int>(blues.size());
}

TEST(AnyOrder, SendsEvery251stArrivalOfAColourToTheQueue) {
    int most = 0;
    for (int round = 0; round != 200; ++round) {
        most = std::max(most, blues_until_served(1, [](auto& p, auto& reds, blue_party& blue) {
                            p.arrive(reds.emplace_back(1), true);
                            p.arrive(blue, true);
                        }));
    }
    EXPECT_EQ(most, 251);
}

TEST(AnyOrder, SendsItThereThoughPartnersAreElsewhereInTheArena) {
    for (const bool spread : {true, false}) { // with an executor, or without
        for (int round = 0; round != 5; ++round) {
            const int blues = blues_until_served(2, [&](auto& p, auto& reds, blue_party& blue) {
                unordered_arena& arena = tryst::test::arena_of(p);
                for (const std::uint32_t index : {1U, 2U}) {
                    offer_at(arena, index, reds.emplace_back(1));
                }
                p.arrive(blue, spread);
            });
            EXPECT_LE(blues, 251) << spread;
        }
    }
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
        int working = 2;
        for (int i = 0; i != 2; ++i) {
            loop.spawn([](auto& out, auto& in, int& total, int& left, run_loop& on) -> task<> {
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
                if (--left == 0) {
                    on.stop();
                }
            }(free, used, uses, working, loop));
        }
        loop.run();
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
            threads.emplace_back([&, i] {
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
