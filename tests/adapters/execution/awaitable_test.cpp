// SPDX-License-Identifier: MIT
#include <tryst/execution.hpp>

#include "adapters/execution/recording.hpp"
#include "support/bare_coroutine.hpp"
#include "support/loop_thread.hpp"
#include "support/tracked.hpp"

#include <tryst/tryst.hpp>

#include <exec/static_thread_pool.hpp>
#include <exec/task.hpp>
#include <stdexec/execution.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

namespace {

namespace ex = stdexec;
using tryst::as_sender;
using tryst::exchange_errc;
using tryst::exchange_result;
using tryst::exchanger;
using tryst::run_loop;
using tryst::task;
using tryst::execution::as_awaitable;
using tryst::execution::stopped_if_cancelled;
using tryst::test::census;
using tryst::test::loop_thread;
using tryst::test::record;
using tryst::test::recorder;
using tryst::test::run;
using tryst::test::tracked;
using tryst::test::with_scheduler;

// ---- Senders in tasks

TEST(AwaitSender, ReturnsNothingAValueOrATuple) {
    auto work = []() -> task<int> {
        co_await as_awaitable(ex::just());
        const int one = co_await as_awaitable(ex::just(1));
        const auto sender = ex::just(2, std::string("three"));
        const auto [two, three] = co_await as_awaitable(sender);
        auto unique = co_await as_awaitable(ex::just(std::make_unique<int>(4)));
        co_return one + two + static_cast<int>(three.size()) + *unique;
    };
    EXPECT_EQ(tryst::sync_wait(work()), 12);
}

TEST(AwaitSender, ThrowsTheErrorOfTheSender) {
    auto work = []() -> task<int> {
        int caught = 0;
        try {
            co_await as_awaitable(ex::just_error(std::make_error_code(std::errc::io_error)));
        } catch (const std::system_error& error) {
            caught += error.code() == std::errc::io_error ? 1 : 0;
        }
        try {
            co_await as_awaitable(
                ex::just_error(std::make_exception_ptr(std::runtime_error("thrown"))));
        } catch (const std::runtime_error&) {
            caught += 10;
        }
        try {
            co_await as_awaitable(ex::just_error(7));
        } catch (int error) {
            caught += error == 7 ? 100 : 0;
        }
        try {
            co_await as_awaitable(ex::just_stopped());
        } catch (const tryst::execution::stopped&) {
            caught += 1000;
        }
        const auto none = co_await as_awaitable(ex::just(std::optional<int>(1)) |
                                                ex::let_value([](auto&) { return ex::just(2); }) |
                                                ex::stopped_as_optional());
        co_return caught + *none * 10'000;
    };
    EXPECT_EQ(tryst::sync_wait(work()), 21'111);
}

/// Throws when it is connected.
struct unconnectable {
    using sender_concept = ex::sender_t;
    using completion_signatures = ex::completion_signatures<ex::set_value_t()>;
    template <class Receiver>
    auto connect(Receiver receiver) const {
        if (receiver.get_env().executor) {
            throw std::bad_alloc();
        }
        return ex::connect(ex::just(), std::move(receiver));
    }
};

TEST(AwaitSender, ThrowsWhatItsConnectionThrows) {
    auto work = []() -> task<bool> {
        try {
            co_await as_awaitable(unconnectable());
        } catch (const std::bad_alloc&) {
            co_return true;
        }
        co_return false;
    };
    EXPECT_TRUE(tryst::sync_wait(work()));
}

TEST(AwaitSender, ResumesTheTaskOnItsExecutor) {
    exec::static_thread_pool pool(1);
    loop_thread loop;
    auto work = [](exec::static_thread_pool& elsewhere) -> task<bool> {
        const auto home = tryst::current_executor();
        const auto thread = std::this_thread::get_id();
        const auto other = co_await as_awaitable(ex::schedule(elsewhere.get_scheduler()) |
                                                 ex::then(std::this_thread::get_id));
        co_return other != thread&& std::this_thread::get_id() ==
            thread&& tryst::current_executor() == home;
    };
    EXPECT_TRUE(run(ex::starts_on(loop->get_scheduler(), as_sender(work(pool)))));
}

TEST(AwaitSender, GivesTheSenderTheSchedulerAndTheToken) {
    auto work = [](std::stop_token token) -> task<bool> {
        auto env = ex::read_env(ex::get_scheduler);
        const auto scheduler = co_await as_awaitable(env);
        auto stop = ex::read_env(ex::get_stop_token);
        const auto given = co_await as_awaitable(stop, token);
        co_return scheduler.executor() == tryst::current_executor() && given == token;
    };
    const std::stop_source stop;
    EXPECT_TRUE(tryst::sync_wait(work(stop.get_token())));
}

TEST(AwaitSender, IsStoppedByTheToken) {
    exchanger<int> ex;
    std::stop_source stop;
    auto work = [](exchanger<int>& with, std::stop_token token) -> task<int> {
        auto sender = as_sender(with.exchange(1)) | stopped_if_cancelled;
        try {
            const auto result = co_await as_awaitable(std::move(sender), token);
            co_return *result;
        } catch (const tryst::execution::stopped&) {
            co_return -1;
        }
    };
    run_loop loop;
    int got = 0;
    loop.spawn([](task<int> inner, int& to) -> task<> {
        to = co_await std::move(inner);
    }(work(ex, stop.get_token()), got));
    loop.run_until_idle();
    EXPECT_EQ(got, 0);
    stop.request_stop();
    loop.run_until_idle();
    EXPECT_EQ(got, -1);
}

TEST(AwaitSender, AwaitsAnExchangeAmongOtherSenders) {
    exchanger<int> ex;
    auto work = [](exchanger<int>& with) -> task<int> {
        auto all =
            ex::when_all(as_sender(with.exchange(1)), as_sender(with.exchange(2)), ex::just(3));
        auto [a, b, c] = co_await as_awaitable(std::move(all));
        co_return *a * 100 + *b * 10 + c;
    };
    EXPECT_EQ(tryst::sync_wait(work(ex)), 213);
}

TEST(AwaitSender, DoesNotGrowTheStack) {
    auto work = []() -> task<int> {
        int sum = 0;
        for (int i = 0; i != 100'000; ++i) {
            sum += co_await as_awaitable(ex::just(1));
        }
        co_return sum;
    };
    EXPECT_EQ(tryst::sync_wait(work()), 100'000);
}

TEST(AwaitSender, WithdrawsAnExchangeWhoseTaskIsDestroyed) {
    census items;
    exchanger<tracked> ex;
    {
        run_loop loop;
        loop.spawn([](exchanger<tracked>& with, census& counted) -> task<> {
            auto sender = as_sender(with.exchange(tracked(counted, 1)));
            const auto result = co_await as_awaitable(std::move(sender));
            ADD_FAILURE() << result.error();
        }(ex, items));
        loop.run_until_idle();
        EXPECT_EQ(items.alive.load(), 1);
    }
    EXPECT_EQ(items.alive.load(), 0);
    EXPECT_EQ(ex.try_exchange(tracked(items, 2)).error(), exchange_errc::no_partner);
}

// ---- Tasks as senders

TEST(TaskSender, SendsTheValue) {
    auto number = []() -> task<int> { co_return 1; };
    auto nothing = []() -> task<> { co_return; };
    auto [value] = ex::sync_wait(ex::when_all(as_sender(number()), as_sender(nothing()))).value();
    EXPECT_EQ(value, 1);
}

TEST(TaskSender, SendsTheException) {
    auto work = []() -> task<int> {
        throw std::runtime_error("thrown");
        co_return 1;
    };
    EXPECT_THROW(ex::sync_wait(as_sender(work())), std::runtime_error);
}

TEST(TaskSender, KeepsTheTaskOnTheSchedulerThatItIsStartedOn) {
    exchanger<int> ex;
    loop_thread one;
    loop_thread two;
    auto work = [](exchanger<int>& with, int item) -> task<bool> {
        const auto home = tryst::current_executor();
        for (int i = 0; i != 100; ++i) {
            const auto result = co_await with.exchange(item);
            if (!result || tryst::current_executor() != home) {
                co_return false;
            }
        }
        co_return true;
    };
    auto [a, b] =
        ex::sync_wait(ex::when_all(ex::starts_on(one->get_scheduler(), as_sender(work(ex, 1))),
                                   ex::starts_on(two->get_scheduler(), as_sender(work(ex, 2)))))
            .value();
    EXPECT_TRUE(a);
    EXPECT_TRUE(b);
}

TEST(TaskSender, CompletesOnAForeignScheduler) {
    exchanger<int> ex;
    auto work = [](exchanger<int>& with) -> task<int> {
        const auto result = co_await with.exchange(1);
        co_return *result;
    };
    std::thread partner([&] { EXPECT_TRUE(tryst::sync_wait(ex.exchange(2))); });
    EXPECT_EQ(run(as_sender(work(ex)) | ex::then([main = std::this_thread::get_id()](int value) {
                      EXPECT_EQ(std::this_thread::get_id(), main);
                      return value;
                  })),
              2);
    partner.join();
}

/// Passes a value to another thread.
template <class Scheduler>
struct promising_receiver {
    using receiver_concept = ex::receiver_t;

    void set_value(int value) && noexcept { to->set_value(value); }
    void set_error(std::exception_ptr error) && noexcept { to->set_exception(std::move(error)); }
    with_scheduler<Scheduler> get_env() const noexcept { return {scheduler}; }

    std::promise<int>* to;
    Scheduler scheduler;
};

TEST(TaskSender, OnAForeignSchedulerDoesNotWaitForTheLoopThatStartsIt) {
    run_loop loop;
    exchanger<int> room;
    exec::static_thread_pool pool(1);
    bool ended = false;
    const auto work = [](exchanger<int>& with, bool& over) -> task<int> {
        const auto result = co_await with.exchange(1);
        over = true;
        co_return *result;
    };
    std::promise<int> result;
    auto state = ex::connect(as_sender(work(room, ended)),
                             promising_receiver{&result, pool.get_scheduler()});
    {
        const tryst::executor_scope here(loop.executor());
        ex::start(state);
    }
    EXPECT_EQ(*room.try_exchange(2), 1);
    EXPECT_TRUE(ended);
    loop.run_until_idle();
    EXPECT_EQ(result.get_future().get(), 2);
}

TEST(TaskSender, MayBeDestroyedBeforeItIsStarted) {
    census items;
    auto work = [](tracked item) -> task<int> { co_return item.id() > 0 ? 1 : 0; };
    {
        auto dropped = as_sender(work(tracked(items, 1)));
        record<int> got;
        auto state = ex::connect(as_sender(work(tracked(items, 2))), recorder<int>{&got});
        EXPECT_EQ(items.alive.load(), 2);
    }
    EXPECT_EQ(items.alive.load(), 0);
}

// ---- Exchanges in the coroutines of stdexec

ex::task<int> swap_in_task(exchanger<int>& with, int item) {
    auto sender = as_sender(with.exchange(item));
    const auto result = co_await std::move(sender);
    co_return *result;
}

exec::task<int> swap_in_exec_task(exchanger<int>& with, int item) {
    auto sender = as_sender(with.exchange(item));
    const auto result = co_await std::move(sender);
    co_return *result;
}

TEST(AwaitInStdexec, SwapsInItsTasks) {
    exchanger<int> ex;
    auto [a, b] =
        ex::sync_wait(ex::when_all(swap_in_task(ex, 1), swap_in_exec_task(ex, 2))).value();
    EXPECT_EQ(a, 2);
    EXPECT_EQ(b, 1);
}

TEST(AwaitInStdexec, StaysOnTheSchedulerOfTheTask) {
    exchanger<int> ex;
    loop_thread loop;
    auto work = [](exchanger<int>& with, tryst::executor_ref home) -> ex::task<bool> {
        for (int i = 0; i != 100; ++i) {
            auto sender = as_sender(with.exchange(1));
            const auto result = co_await std::move(sender);
            if (!result || tryst::current_executor() != home) {
                co_return false;
            }
        }
        co_return true;
    };
    std::thread partner([&ex] {
        for (int i = 0; i != 100; ++i) {
            EXPECT_TRUE(tryst::sync_wait(ex.exchange(2)));
        }
    });
    EXPECT_TRUE(run(ex::starts_on(loop->get_scheduler(), work(ex, loop->executor()))));
    partner.join();
}

TEST(AwaitInStdexec, StoppedEndsTheTask) {
    exchanger<int> ex;
    auto work = [](exchanger<int>& with, std::stop_token token) -> ex::task<int> {
        auto sender = as_sender(with.exchange(1, token)) | stopped_if_cancelled;
        const auto result = co_await std::move(sender);
        co_return *result;
    };
    std::stop_source stop;
    stop.request_stop();
    EXPECT_FALSE(ex::sync_wait(work(ex, stop.get_token())));
}

TEST(AwaitInStdexec, DoesNotGrowTheStack) {
    constexpr int rounds = 20'000;
    exchanger<int> ex;
    auto work = [](exchanger<int>& with) -> ex::task<int> {
        int swaps = 0;
        for (int i = 0; i != rounds; ++i) {
            auto sender = as_sender(with.exchange(i));
            const auto result = co_await std::move(sender);
            swaps += result ? 1 : 0;
        }
        co_return swaps;
    };
    auto [a, b] = ex::sync_wait(ex::when_all(work(ex), work(ex))).value();
    EXPECT_EQ(a + b, 2 * rounds);
}

} // namespace
