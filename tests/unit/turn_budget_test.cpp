// SPDX-License-Identifier: MIT
// A party that always finds a waiting partner lets other work run. Whether it loses anything then:
// tests/sim, whose parties have a budget of three.
#include <tryst/detail/run/turn_budget.hpp>

#include "support/bare_coroutine.hpp"
#include "support/manual_clock.hpp"
#include "support/queue_executor.hpp"
#include "support/waiting_partners.hpp"

#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <deque>
#include <stop_token>
#include <system_error>
#include <thread>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using channel = synchronous_channel<int>;
constexpr int all_partners = waiting_partners::count;

/// Awaits the operations that `make` makes, as often as partners wait.
template <class Make>
task<> repeat(Make make, int& done) {
    while (done != all_partners) {
        const auto got = co_await make();
        if (!got) {
            ADD_FAILURE() << "no partner";
            co_return;
        }
        ++done;
    }
}

task<> look(const int& done, int& seen) {
    seen = done;
    co_return;
}

/// How many operations of a party, which finds a partner each time, come before other work that is
/// ready.
template <class Make>
int operations_before_others(Make make) {
    run_loop loop;
    int done = 0;
    int seen = -1;
    loop.spawn(repeat(make, done));
    loop.spawn(look(done, seen));
    loop.run_until_idle();
    EXPECT_EQ(done, all_partners);
    return seen;
}
template <class Make, class MakePartner>
int operations_before_others(Make make, MakePartner make_partner) {
    const waiting_partners partners(make_partner);
    return operations_before_others(make);
}

// ---- Each kind of operation

/// Parties without colours do not wait together. So a new one waits before each exchange.
template <class Exchange>
bare_coroutine be_partner(Exchange exchange) {
    const auto got = co_await exchange();
    EXPECT_TRUE(got);
}
template <class Exchange>
void expect_budget_for_exchanges(Exchange exchange) {
    std::deque<bare_coroutine> partners;
    EXPECT_EQ(operations_before_others([&] {
                  partners.push_back(be_partner(exchange));
                  return exchange();
              }),
              budget);
}

TEST(TurnBudgetOfExchanges, LetsOthersRun) {
    exchanger<int> ex;
    const std::stop_source source;
    expect_budget_for_exchanges([&] { return ex.exchange(1); });
    expect_budget_for_exchanges([&] { return ex.exchange(1, 1h, source.get_token()); });
    channel where;
    const auto send = [&] { return where.send(1); };
    const auto receive = [&] { return where.receive(); };
    EXPECT_EQ(operations_before_others(send, receive), budget);
    EXPECT_EQ(operations_before_others(receive, send), budget);
}

TEST(TurnBudgetOfBuffers, LetsOthersRun) {
    tryst::channel<int> where(unlimited);
    const auto send = [&] { return where.send(1); };
    EXPECT_EQ(operations_before_others(send), budget);
    const auto receive = [&] { return where.receive(1h); };
    EXPECT_EQ(operations_before_others(receive), budget);
    EXPECT_EQ(where.size(), 0U);
}

TEST(TurnBudgetOfSelections, LetsOthersRun) {
    std::array<channel, 2> where;
    const auto send = [&] { return where[1].send(1); };
    const auto receive = [](channel& each) { return each.receive(); };
    EXPECT_EQ(operations_before_others(
                  [&] { return select(where[0].receive(), where[1].receive()); }, send),
              budget);
    EXPECT_EQ(operations_before_others(
                  [&] { return select(where[0].receive(), where[1].receive(), 1h); }, send),
              budget);
    EXPECT_EQ(operations_before_others([&] { return select_from(where, receive); }, send), budget);
}

// ---- What others can do meanwhile

/// A party that finds a partner each time.
class TurnBudget : public ::testing::Test {
protected:
    /// Sends with one deadline, which has passed, until it is refused.
    task<> send_until_refused() {
        const auto deadline = loop.now();
        while (!why) {
            if (done == stop_after) {
                stop.request_stop();
            }
            auto sent = co_await where.send(done, deadline, stop.get_token());
            if (!sent) {
                why = sent.error();
                EXPECT_EQ(sent.returned(), done);
                co_return;
            }
            ++done;
        }
    }

    channel where;
    const waiting_partners partners{where};
    timed_loop loop;
    std::stop_source stop;
    int stop_after = -1;
    int done = 0;
    int seen = -1;
    std::error_code why;
};

TEST_F(TurnBudget, IsSharedByTheTasksOfATurn) {
    const auto both = [&]() -> task<> { // which only together find a partner each time
        co_await when_all(send_all(where, done), send_all(where, done));
    };
    loop->spawn(both());
    loop->spawn(look(done, seen));
    loop->run_until_idle();
    EXPECT_EQ(done, all_partners);
    EXPECT_LE(seen, 2 * budget);
}

TEST_F(TurnBudget, LetsTimersFire) {
    const auto nap = [&]() -> task<> {
        const bool passed = co_await sleep_for(1ms);
        seen = passed ? done : -1;
    };
    loop->spawn(nap());
    loop->run_until_idle();
    loop->spawn(send_all(where, done));
    loop.advance(1ms);
    EXPECT_EQ(done, all_partners);
    EXPECT_GE(seen, 0);
    EXPECT_LE(seen, budget);
}

/// Sends to all, and posts from another thread when it has begun.
TEST_F(TurnBudget, LetsMailArrive) {
    const auto send = [&]() -> task<> {
        std::thread([&] { loop->spawn(look(done, seen)); }).join();
        co_await send_all(where, done);
    };
    loop->spawn(send());
    loop->run_until_idle();
    EXPECT_EQ(done, all_partners);
    EXPECT_GE(seen, 0);
    EXPECT_LE(seen, 2 * (budget + 1));
}

TEST_F(TurnBudget, LetsALoopStop) {
    loop->spawn(send_all(where, done));
    loop->stop();
    loop->run();
    EXPECT_LE(done, budget + 1);
    loop->run_until_idle();
    EXPECT_EQ(done, all_partners);
}

TEST_F(TurnBudget, EndsALoopOfOperationsWithOneDeadline) {
    loop->run(send_until_refused());
    EXPECT_EQ(why, exchange_errc::timed_out);
    EXPECT_EQ(done, budget);
}

TEST_F(TurnBudget, EndsALoopOfSelectionsWithOneDeadline) {
    channel elsewhere;
    const auto send = [&]() -> task<> {
        const auto deadline = loop.now();
        while (true) {
            auto got = co_await select(where.send(done), elsewhere.receive(), deadline);
            if (!got) {
                co_return;
            }
            ++done;
        }
    };
    loop->run(send());
    EXPECT_EQ(done, budget);
}

/// A stop comes first, as without a budget.
TEST_F(TurnBudget, LeavesAStopItsPrecedence) {
    stop_after = budget;
    loop->run(send_until_refused());
    EXPECT_EQ(why, exchange_errc::cancelled);
}

// ---- Parties that are not on a loop

TEST_F(TurnBudget, DoesNotHoldUpACoroutineWithoutAnExecutor) {
    const auto send = [&]() -> bare_coroutine { co_await send_all(where, done); };
    const auto party = send();
    EXPECT_EQ(done, all_partners);
}

TEST_F(TurnBudget, DoesNotHoldUpAThread) {
    for (int i = 0; i != all_partners; ++i) {
        ASSERT_TRUE(sync_wait(where.send(i)));
    }
}

/// A coroutine that is resumed inline spends the budget of the party that resumes it.
TEST(TurnBudgetOfAnInlineResumption, IsNotExceeded) {
    channel where;
    channel elsewhere;
    const waiting_partners others(elsewhere);
    int done_inline = 0;
    const auto receive_and_send = [&]() -> bare_coroutine {
        const auto got = co_await where.receive();
        EXPECT_TRUE(got);
        co_await send_all(elsewhere, done_inline);
    };
    const auto first = receive_and_send();
    const waiting_partners partners(where);
    EXPECT_LE(operations_before_others([&] { return where.send(1); }), budget);
    EXPECT_EQ(done_inline, all_partners);
}

TEST_F(TurnBudget, BeginsAnewOnAnExecutorWithoutBatches) {
    queue_executor queue;
    const auto send = [&]() -> bare_coroutine {
        co_await queue.ref().schedule();
        co_await send_all(where, done);
    };
    const auto party = send();
    const executor_scope here(queue.ref());
    int nodes = 0;
    for (; queue.size() != 0; ++nodes) {
        queue.run_one();
    }
    EXPECT_EQ(done, all_partners);
    EXPECT_GE(nodes, all_partners / (budget + 1));
    EXPECT_LE(nodes, all_partners / budget + 2);
}

} // namespace
} // namespace tryst::test
