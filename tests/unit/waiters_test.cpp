// SPDX-License-Identifier: MIT
// Every kind of waiter meets every other, and goes on where it waited.
#include <tryst/exchanger.hpp>

#include "support/insides.hpp"
#include "support/joined_coroutine.hpp"
#include "support/limited.hpp"
#include "support/loop_thread.hpp"
#include "support/queue_executor.hpp"
#include "support/shared_numbers.hpp"
#include "support/tracked.hpp"

#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>
#include <tryst/when_all.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using meeting = exchanger<tracked>;

enum class kind : std::uint8_t { on_loop, bare, thread };
constexpr const char* kinds[] = {"Loop", "Bare", "Thread"};

/// One party of any kind, which has a thread of its own unless it is bare.
class participant {
    auto exchange_as(auto use) { // before its uses, for its result type
        return with_limits(limits_, std::chrono::steady_clock::now() + 1h, stop_.get_token(), use);
    }

public:
    /// @param own, partners  written before the exchange by each of the two.
    participant(kind k, meeting& ex, limit limits, tracked mine, int& own, const int& partners)
        : ex_(ex), limits_(limits), mine_(std::move(mine)), own_(own), partners_(partners) {
        switch (k) {
        case kind::on_loop:
            loop_.emplace();
            executor = (*loop_)->executor();
            (*loop_)->spawn(exchange_as([this](auto... limit) { return meet<task<>>(limit...); }));
            break;
        case kind::bare:
            bare_.emplace(
                exchange_as([this](auto... limit) { return meet<joined_coroutine>(limit...); }));
            break;
        case kind::thread:
            thread_ = std::thread([this] {
                own_ = 1;
                note(exchange_as([this](auto... limit) {
                    return sync_wait(ex_.exchange(std::move(mine_), limit...));
                }));
            });
            break;
        }
    }

    void join() {
        while (!ended) {
            std::this_thread::yield();
        }
        if (loop_) {
            loop_->join();
        }
        if (thread_.joinable()) {
            thread_.join();
        }
    }

    executor_ref executor;
    int seen = 0; ///< What the partner had written.
    long received = 0;
    std::thread::id went_on;
    executor_ref went_on_at;
    std::atomic<bool> ended{false};

private:
    template <class Coroutine, class... Limit>
    Coroutine meet(Limit... limit) {
        own_ = 1;
        auto got = co_await ex_.exchange(std::move(mine_), limit...);
        note(std::move(got));
    }
    void note(exchange_result<tracked> got) {
        seen = partners_;
        received = got ? got->id() : 0;
        went_on = std::this_thread::get_id();
        went_on_at = current_executor();
        ended = true;
    }

    meeting& ex_;
    limit limits_;
    tracked mine_;
    int& own_;
    const int& partners_;
    std::stop_source stop_;
    std::optional<loop_thread> loop_;
    std::optional<joined_coroutine> bare_;
    std::thread thread_;
};

class Waiters : public testing::TestWithParam<std::tuple<kind, kind>> {
protected:
    static void swap(kind first, kind second, limit limits, int slots) {
        census items;
        {
            meeting ex(2);
            grow(ex, slots);
            int written[2] = {}; // plain: the exchange must order them
            participant one(first, ex, limits, tracked(items, 1), written[0], written[1]);
            until_someone_waits(ex);
            EXPECT_FALSE(one.ended);
            participant two(second, ex, limits, tracked(items, 2), written[1], written[0]);
            one.join();
            two.join();

            EXPECT_EQ(one.received, 2);
            EXPECT_EQ(two.received, 1);
            EXPECT_EQ(one.seen, 1);
            EXPECT_EQ(two.seen, 1);
            EXPECT_EQ(one.went_on_at, one.executor);
            EXPECT_EQ(two.went_on_at, two.executor);
            const auto here = std::this_thread::get_id();
            EXPECT_EQ(two.went_on == here, second == kind::bare);
            if (first == kind::bare) {
                EXPECT_EQ(one.went_on, two.went_on); // inline, in its partner's exchange
            } else {
                EXPECT_NE(one.went_on, two.went_on);
                EXPECT_NE(one.went_on, here);
            }
        }
        EXPECT_EQ(items.alive, 0);
    }
};

TEST_P(Waiters, SwapAndGoOnWhereTheyWaited) {
    const auto [first, second] = GetParam();
    for (const limit limits : all_limits) {
        for (const int slots : {0, 1, 2}) {
            SCOPED_TRACE(name_of(limits) + (", slots: " + std::to_string(slots)));
            swap(first, second, limits, slots);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(EachAgainstEach, Waiters,
                         testing::Combine(testing::Values(kind::on_loop, kind::bare, kind::thread),
                                          testing::Values(kind::on_loop, kind::bare, kind::thread)),
                         [](const auto& of) {
                             return std::string(kinds[static_cast<int>(std::get<0>(of.param))]) +
                                    "Then" + kinds[static_cast<int>(std::get<1>(of.param))];
                         });

// ---- On one loop.

task<> swap_in_turn(exchanger<int>& ex, int mine, std::vector<int>& order) {
    auto got = co_await ex.exchange(mine);
    EXPECT_EQ(got, 3 - mine);
    order.push_back(mine);
}

TEST(WaitersOnOneLoop, AreQueuedByThePartnerWhichGoesOnAtOnce) {
    for (const unsigned slots : {0U, 1U}) {
        exchanger<int> ex(1);
        grow(ex, static_cast<int>(slots));
        std::vector<int> order;
        run_loop loop;
        loop.spawn(swap_in_turn(ex, 1, order));
        loop.spawn(swap_in_turn(ex, 2, order));
        loop.run_until_idle();
        EXPECT_EQ(order, (std::vector{2, 1}));
        EXPECT_EQ(spread_of(ex), slots) << "they have met there";
    }
}

// ---- A coroutine whose promise names its executor.

template <class... Limit>
bound_coroutine swap_at(executor_ref /*home*/, exchanger<int>& ex, executor_ref& went_on_at,
                        Limit... limit) {
    auto got = co_await ex.exchange(1, limit...);
    EXPECT_EQ(got, 2);
    went_on_at = current_executor();
}

TEST(Waiters, GoOnOnTheExecutorThatTheirPromiseNames) {
    for (const int slots : {0, 1}) {
        for (const bool timed : {false, true}) {
            exchanger<int> ex(1);
            grow(ex, slots);
            run_loop loop;
            executor_ref went_on_at;
            // Called here, on no executor, it starts here.
            const auto waiting = timed ? swap_at(loop.executor(), ex, went_on_at, 1h)
                                       : swap_at(loop.executor(), ex, went_on_at);
            loop.run_until_idle();
            ASSERT_EQ(ex.try_exchange(2), 1);
            EXPECT_FALSE(went_on_at) << "it does not go on here";
            loop.run_until_idle();
            EXPECT_EQ(went_on_at, loop.executor());
        }
    }
}

// ---- Parties of all kinds in one channel.

TEST(Waiters, OfAllKindsShareAChannel) {
    for (const std::size_t limit : shared_numbers::limits) {
        shared_numbers shared(3, limit);
        std::thread loop(
            [&] { run_loop().run(when_all(shared.send<task<>>(), shared.receive<task<>>())); });
        std::thread sender(
            [&] { shared.send_by([](auto op) { return sync_wait(std::move(op)); }); });
        std::thread receiver(
            [&] { shared.receive_by([](auto op) { return sync_wait(std::move(op)); }); });
        const auto bare_receiver = shared.receive<joined_coroutine>();
        const auto bare_sender = shared.send<joined_coroutine>();
        loop.join();
        sender.join();
        receiver.join();
        bare_receiver.join();
        bare_sender.join();
        shared.expect_each_once();
    }
}

} // namespace
} // namespace tryst::test
