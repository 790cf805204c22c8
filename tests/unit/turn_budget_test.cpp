// SPDX-License-Identifier: MIT
// A party that always finds a waiting partner lets other work run.
#include <tryst/detail/run/turn_budget.hpp>

#include "support/bare_coroutine.hpp"
#include "support/manual_clock.hpp"
#include "support/tracked.hpp"
#include "support/waiting_partners.hpp"

#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <deque>
#include <stop_token>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::executor_node;
using tryst::task;
using tryst::test::bare_coroutine;
using tryst::test::budget;
using tryst::test::census;
using tryst::test::send_all;
using tryst::test::timed_loop;
using tryst::test::tracked;
using tryst::test::waiting_partners;
using channel = tryst::synchronous_channel<int>;

/// Awaits the operations that `make` makes, as often as partners wait.
template <class Make>
task<> repeat(Make make, int& done) {
    while (done != waiting_partners::count) {
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
    tryst::run_loop loop;
    int done = 0;
    int seen = -1;
    loop.spawn(repeat(make, done));
    loop.spawn(look(done, seen));
    loop.run_until_idle();
    EXPECT_EQ(done, waiting_partners::count);
    return seen;
}
template <class Make, class MakePartner>
int operations_before_others(Make make, MakePartner make_partner) {
    const waiting_partners partners(make_partner);
    return operations_before_others(make);
}

/// Parties without colours do not wait together. So a new one waits before each exchange.
template <class Exchange>
bare_coroutine be_partner(Exchange exchange) {
    const auto got = co_await exchange();
    EXPECT_TRUE(got);
}

TEST(TurnBudget, LetsOthersRunAfterExchanges) {
    tryst::exchanger<int> ex;
    const auto exchange = [&] { return ex.exchange(1); };
    std::deque<bare_coroutine> partners;
    EXPECT_EQ(operations_before_others([&] {
                  partners.push_back(be_partner(exchange));
                  return exchange();
              }),
              budget);
}

TEST(TurnBudget, LetsOthersRunAfterExchangesWithLimits) {
    tryst::exchanger<int> ex;
    const std::stop_source source;
    const auto exchange = [&] { return ex.exchange(1, 1h, source.get_token()); };
    std::deque<bare_coroutine> partners;
    EXPECT_EQ(operations_before_others([&] {
                  partners.push_back(be_partner(exchange));
                  return exchange();
              }),
              budget);
}

template <class Order>
class TurnBudgetOfOrder : public ::testing::Test {};
using orders = ::testing::Types<std::integral_constant<tryst::order, tryst::order::fifo>,
                                std::integral_constant<tryst::order, tryst::order::lifo>>;
TYPED_TEST_SUITE(TurnBudgetOfOrder, orders);

TYPED_TEST(TurnBudgetOfOrder, LetsOthersRunAfterRedAndBlueParties) {
    tryst::red_blue_exchanger<int, int, TypeParam::value> ex;
    const auto red = [&] { return ex.red(1); };
    const auto blue = [&] { return ex.blue(1); };
    EXPECT_EQ(operations_before_others(red, blue), budget);
    EXPECT_EQ(operations_before_others(blue, red), budget);
}

TYPED_TEST(TurnBudgetOfOrder, LetsOthersRunAfterSendersAndReceivers) {
    tryst::synchronous_channel<int, TypeParam::value> where;
    const auto send = [&] { return where.send(1); };
    const auto receive = [&] { return where.receive(); };
    EXPECT_EQ(operations_before_others(send, receive), budget);
    EXPECT_EQ(operations_before_others(receive, send), budget);
}

TEST(TurnBudget, LetsOthersRunAfterSelections) {
    std::array<channel, 2> where;
    const auto send = [&] { return where[1].send(1); };
    const auto receive = [](channel& each) { return each.receive(); };
    EXPECT_EQ(operations_before_others(
                  [&] { return tryst::select(where[0].receive(), where[1].receive()); }, send),
              budget);
    EXPECT_EQ(operations_before_others(
                  [&] { return tryst::select(where[0].receive(), where[1].receive(), 1h); }, send),
              budget);
    EXPECT_EQ(operations_before_others([&] { return tryst::select_from(where, receive); }, send),
              budget);
}

/// Parties that only together find a partner each time.
TEST(TurnBudget, IsSharedByTheTasksOfATurn) {
    channel where;
    const waiting_partners partners(where);
    tryst::run_loop loop;
    int done = 0;
    int seen = -1;
    const auto both = [](channel& to, int& count) -> task<> {
        co_await tryst::when_all(send_all(to, count), send_all(to, count));
    };
    loop.spawn(both(where, done));
    loop.spawn(look(done, seen));
    loop.run_until_idle();
    EXPECT_EQ(done, waiting_partners::count);
    EXPECT_LE(seen, 2 * budget);
}

TEST(TurnBudget, LetsTimersFire) {
    channel where;
    const waiting_partners partners(where);
    timed_loop loop;
    int done = 0;
    int seen = -1;
    const auto sleeper = [](const int& count, int& at) -> task<> {
        const bool passed = co_await tryst::sleep_for(1ms);
        at = passed ? count : -1;
    };
    loop->spawn(sleeper(done, seen));
    loop->run_until_idle();
    loop->spawn(send_all(where, done));
    loop.advance(1ms);
    EXPECT_EQ(done, waiting_partners::count);
    EXPECT_LE(seen, budget);
}

/// Sends to all, and posts from another thread when it has begun.
TEST(TurnBudget, LetsMailArrive) {
    struct letter : executor_node {
        const int* done;
        int seen = -1;
    };
    channel where;
    const waiting_partners partners(where);
    tryst::run_loop loop;
    int done = 0;
    letter mail;
    mail.done = &done;
    mail.run = [](executor_node* node) noexcept {
        auto& self = static_cast<letter&>(*node);
        self.seen = *self.done;
    };
    const auto send = [](tryst::run_loop& on, channel& to, letter& later, int& count) -> task<> {
        std::thread([&] { on.post(&later); }).join();
        co_await send_all(to, count);
    };
    loop.spawn(send(loop, where, mail, done));
    loop.run_until_idle();
    EXPECT_EQ(done, waiting_partners::count);
    EXPECT_GE(mail.seen, 0);
    EXPECT_LE(mail.seen, 2 * (budget + 1));
}

TEST(TurnBudget, LetsALoopStop) {
    channel where;
    const waiting_partners partners(where);
    tryst::run_loop loop;
    int done = 0;
    loop.spawn(send_all(where, done));
    loop.stop();
    loop.run();
    EXPECT_LE(done, budget + 1);
    loop.run_until_idle();
    EXPECT_EQ(done, waiting_partners::count);
}

TEST(TurnBudget, EndsALoopOfOperationsWithOneDeadline) {
    channel where;
    const waiting_partners partners(where);
    timed_loop loop;
    int done = 0;
    std::error_code why;
    const auto send = [](channel& to, timed_loop& on, int& count, std::error_code& end) -> task<> {
        const auto deadline = on.now();
        while (true) {
            auto sent = co_await to.send(count, deadline);
            if (!sent) {
                end = sent.error();
                EXPECT_EQ(sent.returned(), count);
                co_return;
            }
            ++count;
        }
    };
    loop->spawn(send(where, loop, done, why));
    loop->run_until_idle();
    EXPECT_EQ(why, exchange_errc::timed_out);
    EXPECT_EQ(done, budget);
}

TEST(TurnBudget, EndsALoopOfSelectionsWithOneDeadline) {
    channel where;
    channel other;
    const waiting_partners partners(where);
    timed_loop loop;
    int done = 0;
    const auto send = [](channel& to, channel& elsewhere, timed_loop& on, int& count) -> task<> {
        const auto deadline = on.now();
        while (true) {
            auto got = co_await tryst::select(to.send(count), elsewhere.receive(), deadline);
            if (!got) {
                co_return;
            }
            ++count;
        }
    };
    loop->spawn(send(where, other, loop, done));
    loop->run_until_idle();
    EXPECT_EQ(done, budget);
}

/// A stop comes first, as without a budget.
TEST(TurnBudget, LeavesAStopItsPrecedence) {
    channel where;
    const waiting_partners partners(where);
    timed_loop loop;
    std::stop_source source;
    int done = 0;
    std::error_code why;
    const auto send = [](channel& to, timed_loop& on, std::stop_source& stop, int& count,
                         std::error_code& end) -> task<> {
        const auto deadline = on.now();
        while (!end) {
            if (count == budget) {
                stop.request_stop();
            }
            auto sent = co_await to.send(count, deadline, stop.get_token());
            if (!sent) {
                end = sent.error();
                co_return;
            }
            ++count;
        }
    };
    loop->spawn(send(where, loop, source, done, why));
    loop->run_until_idle();
    EXPECT_EQ(why, exchange_errc::cancelled);
}

/// The loop ends when a party has its partner, and is queued.
TEST(TurnBudget, LosesNothingIfTheLoopEndsWhileThePartyIsQueued) {
    census all;
    {
        tryst::synchronous_channel<tracked> where;
        const waiting_partners partners([&] { return where.receive(); });
        int begun = 0;
        {
            tryst::run_loop loop;
            const auto send = [](auto& to, census& of, int& count) -> task<> {
                while (true) {
                    ++count;
                    auto sent = co_await to.send(tracked(of, count));
                    if (!sent) {
                        co_return;
                    }
                }
            };
            loop.spawn(send(where, all, begun));
            loop.stop();
            loop.run();
            EXPECT_EQ(begun, budget + 1);
            EXPECT_EQ(all.alive, begun);
        }
        int others = 0;
        while (where.try_send(tracked(all, -1))) {
            ++others;
        }
        EXPECT_EQ(begun + others, waiting_partners::count); // each took exactly one partner
    }
    EXPECT_EQ(all.alive, 0);
}

TEST(TurnBudget, LosesNothingIfTheLoopEndsWhileASelectionIsQueued) {
    census all;
    {
        tryst::synchronous_channel<tracked> where;
        tryst::synchronous_channel<tracked> other;
        const waiting_partners partners([&] { return where.send(tracked(all, 0)); });
        int begun = 0;
        {
            tryst::run_loop loop;
            const auto receive = [](auto& a, auto& b, int& count) -> task<> {
                while (true) {
                    ++count;
                    auto got = co_await tryst::select(a.receive(), b.receive());
                    if (!got) {
                        co_return;
                    }
                }
            };
            loop.spawn(receive(where, other, begun));
            loop.stop();
            loop.run();
            EXPECT_EQ(begun, budget + 1);
        }
        const auto late = other.try_send(tracked(all, 1)); // no waiter was left behind
        EXPECT_FALSE(late);
    }
    EXPECT_EQ(all.alive, 0);
}

template <class Make>
bare_coroutine repeat_for_ever(Make make) {
    while (true) {
        const auto got = co_await make();
        if (!got) {
            co_return;
        }
    }
}

/// Destroys a coroutine that has its partner, and is in the queue of the loop.
template <class Make>
void destroy_while_queued(Make make) {
    tryst::run_loop loop;
    bool destroyed = false;
    loop.spawn([](Make again, bool& done) -> task<> {
        {
            const auto party = repeat_for_ever(again); // until its budget is spent
        }
        done = true;
        co_return;
    }(make, destroyed));
    loop.run_until_idle();
    EXPECT_TRUE(destroyed);
}

TEST(TurnBudget, DoesNotResumeAPartyThatIsDestroyedWhileItIsQueued) {
    channel where;
    const waiting_partners partners([&] { return where.send(1); });
    destroy_while_queued([&] { return where.receive(); });
    destroy_while_queued([&] { return tryst::select(where.receive()); });
}

TEST(TurnBudget, DoesNotHoldUpACoroutineWithoutAnExecutor) {
    channel where;
    const waiting_partners partners(where);
    int done = 0;
    const auto send = [](channel& to, int& count) -> bare_coroutine {
        co_await send_all(to, count);
    };
    const auto party = send(where, done);
    EXPECT_EQ(done, waiting_partners::count);
}

/// A coroutine that is resumed inline spends the budget of the party that resumes it.
TEST(TurnBudget, IsNotExceededAfterAnInlineResumption) {
    channel where;
    channel elsewhere;
    const waiting_partners others(elsewhere);
    int done_inline = 0;
    const auto receive_and_send = [](channel& from, channel& to, int& count) -> bare_coroutine {
        const auto got = co_await from.receive();
        EXPECT_TRUE(got);
        co_await send_all(to, count);
    };
    const auto first = receive_and_send(where, elsewhere, done_inline);
    const waiting_partners partners(where);
    tryst::run_loop loop;
    int done = 0;
    int seen = -1;
    loop.spawn(send_all(where, done));
    loop.spawn(look(done, seen));
    loop.run_until_idle();
    EXPECT_EQ(done_inline, waiting_partners::count);
    EXPECT_EQ(done, waiting_partners::count);
    EXPECT_LE(seen, budget);
}

TEST(TurnBudget, DoesNotHoldUpAThread) {
    channel where;
    const waiting_partners partners(where);
    for (int i = 0; i != waiting_partners::count; ++i) {
        ASSERT_TRUE(tryst::sync_wait(where.send(i)));
    }
}

/// An executor that runs its nodes without `next_batch`.
class plain_executor {
public:
    tryst::executor_ref ref() noexcept {
        static constexpr tryst::executor_vtable vtable{
            .post =
                [](void* self, executor_node* node) noexcept {
                    auto& own = *static_cast<plain_executor*>(self);
                    node->next = nullptr;
                    *own.tail_ = node;
                    own.tail_ = &node->next;
                },
            .serial = true};
        return {this, &vtable};
    }
    /// @returns the number of nodes that it ran.
    int run() {
        const tryst::executor_scope here(ref());
        int count = 0;
        for (; head_ != nullptr; ++count) {
            executor_node* const node = head_;
            head_ = node->next;
            if (head_ == nullptr) {
                tail_ = &head_;
            }
            node->run(node);
        }
        return count;
    }

private:
    executor_node* head_ = nullptr;
    executor_node** tail_ = &head_;
};

TEST(TurnBudget, BeginsAnewOnAnExecutorWithoutBatches) {
    channel where;
    const waiting_partners partners(where);
    plain_executor executor;
    int done = 0;
    const auto send = [](plain_executor& on, channel& to, int& count) -> bare_coroutine {
        co_await on.ref().schedule();
        co_await send_all(to, count);
    };
    const auto party = send(executor, where, done);
    const int nodes = executor.run();
    EXPECT_EQ(done, waiting_partners::count);
    EXPECT_GE(nodes, waiting_partners::count / (budget + 1));
    EXPECT_LE(nodes, waiting_partners::count / budget + 2);
}

} // namespace
