// SPDX-License-Identifier: MIT Awaitables, callbacks and tasks on io_contexts, pools and strands
// exchange with coroutines of a run_loop and with plain threads. Waits end in every way, and
// contexts are destroyed while operations wait there. The recorded history must be possible, and
// every path must have been taken.
#include "adapters/asio/net.hpp"
#include "stress/scene.hpp"
#include "stress/step_counts.hpp"

#include <tryst/asio.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

namespace tryst::test {
namespace {

namespace net = ::asio;

/// The arguments of an Asio handler as a result.
exchange_result<tracked> as_result(const net::error_code& error, tracked&& item) {
    if (error) {
        return {static_cast<exchange_errc>(error.value()), std::move(item)};
    }
    return exchange_result<tracked>(std::move(item));
}

/// Exchanges in every way by `wait` until the exchanger is closed.
net::awaitable<void> awaitable_party(scene& s, std::size_t number) {
    dice random(number);
    bool open = true;
    for (long i = 0; open; ++i) {
        turn t(s, number, i, random);
        if (t.tries()) {
            open = t.end(s.ex.try_exchange(t.item()));
        } else if (t.has_both()) {
            open = t.end(co_await asio::wait(s.ex.exchange_for(t.item(), t.patience, t.stop)));
        } else if (t.has_deadline()) {
            open = t.end(co_await asio::wait(s.ex.exchange_for(t.item(), t.patience)));
        } else if (t.has_stop()) {
            open = t.end(co_await asio::wait(s.ex.exchange(t.item(), t.stop)));
        } else {
            open = t.end(co_await asio::wait(s.ex.exchange(t.item())));
        }
    }
    s.left.count_down();
}

/// The same by callbacks, and stops by cancellation: `executor` runs one handler at a time.
template <class Executor>
class callback_party : public std::enable_shared_from_this<callback_party<Executor>> {
public:
    callback_party(scene& s, std::size_t number, Executor executor)
        : scene_(s), number_(number), random_(number), executor_(std::move(executor)) {}

    void next() {
        turn_.emplace(scene_, number_, item_++, random_);
        turn& t = *turn_;
        if (t.tries()) {
            ended(scene_.ex.try_exchange(t.item()));
        } else if (t.stop.stop_requested()) {
            ended(exchange_result<tracked>(exchange_errc::cancelled, t.item()));
        } else if (t.has_deadline()) {
            asio::async_exchange_for(scene_.ex, t.item(), t.patience, handler());
        } else {
            asio::async_exchange(scene_.ex, t.item(), handler());
        }
    }

private:
    auto handler() {
        return asio::bind_stop_token(
            turn_->stop, net::bind_executor(executor_, [self = this->shared_from_this()](
                                                           net::error_code error, tracked item) {
                EXPECT_TRUE(self->executor_.running_in_this_thread());
                self->ended(as_result(error, std::move(item)));
            }));
    }

    void ended(const exchange_result<tracked>& result) {
        if (turn_->end(result)) {
            net::post(executor_, [self = this->shared_from_this()] { self->next(); });
        } else {
            scene_.left.count_down();
        }
    }

    scene& scene_;
    std::size_t number_;
    dice random_;
    Executor executor_;
    long item_ = 0;
    std::optional<turn> turn_;
};

template <class Executor>
void start_callbacks(scene& s, std::size_t number, Executor executor) {
    auto party = std::make_shared<callback_party<Executor>>(s, number, executor);
    net::post(executor, [party = std::move(party)] { party->next(); });
}

/// A signal, and the exchange that it may cancel.
struct canceller {
    net::cancellation_signal signal;
    long item = -1;
};

/// Cancels the exchange of `item`, if it goes on then, `turns` of the executor later.
void cancel_soon(scene& s, std::size_t number, const std::shared_ptr<canceller>& by, long item,
                 history::stop_id stop, const net::any_io_executor& executor, long turns) {
    net::post(executor, [&s, number, by, item, stop, executor, turns] {
        if (by->item != item) {
            return;
        }
        if (turns != 0) {
            return cancel_soon(s, number, by, item, stop, executor, turns - 1);
        }
        s.record[number].stop(stop, [&by] { by->signal.emit(net::cancellation_type::terminal); });
    });
}

using maybe = std::optional<exchange_result<tracked>>;

/// Ends on `elsewhere`, if there is such a loop.
task<maybe> exchange_in_task(scene& s, tracked item, std::stop_token stop, run_loop* elsewhere) {
    auto got = co_await s.ex.exchange(std::move(item), std::move(stop));
    if (elsewhere != nullptr) {
        co_await elsewhere->schedule();
    }
    co_return std::move(got);
}

/// How many waits have been cancelled by their signals, in each of the ways of `cancelled_party`.
std::array<std::atomic<std::size_t>, 3> cancelled{};

/// Follows `by`, its own signal, in each of the ways that a coroutine has. Its executor runs one
/// handler at a time.
net::awaitable<void> cancelled_party(scene& s, std::size_t number, std::shared_ptr<canceller> by,
                                     run_loop* elsewhere) {
    co_await net::this_coro::throw_if_cancelled(false);
    const auto executor = co_await net::this_coro::executor;
    bool open = true;
    for (long i = 0; open; ++i) {
        const long given = (static_cast<long>(number) << 32U) + i;
        const auto stop = static_cast<history::stop_id>(given) | (1ULL << 62U);
        auto entry = s.record[number].begin({.given = given, .stop = stop});
        by->item = i;
        cancel_soon(s, number, by, i, stop, executor, i % 4);
        tracked item(s.items, given);
        maybe got;
        if (i % 3 == 0) {
            got = co_await asio::wait(s.ex.exchange(std::move(item)));
        } else if (i % 3 == 1) {
            auto [error, end] = co_await asio::async_exchange(
                s.ex, std::move(item), tryst::test::as_tuple(net::use_awaitable));
            got = as_result(error, std::move(end));
        } else {
            auto work = [&](std::stop_token token) {
                return exchange_in_task(s, std::move(item), std::move(token), elsewhere);
            };
            got = co_await asio::async_wait(work, net::use_awaitable);
        }
        by->item = -1;
        entry.returned(*got);
        if (got->error() == exchange_errc::cancelled) {
            ++cancelled.at(static_cast<std::size_t>(i % 3));
        }
        open = got->error() != exchange_errc::closed;
    }
    s.left.count_down();
}

template <class Executor>
void start_cancelled(scene& s, std::size_t number, const Executor& executor,
                     run_loop* elsewhere = nullptr) {
    auto by = std::make_shared<canceller>();
    net::co_spawn(executor, cancelled_party(s, number, by, elsewhere),
                  net::bind_cancellation_slot(by->signal.slot(), net::detached));
}

/// The sums over all scenes.
struct tally {
    std::array<std::size_t, 5> failures{};
    std::size_t exchanges = 0;

    void add(const history& record) {
        exchanges += record.exchanged() / 2;
        for (const auto why : all_errors) {
            failures.at(static_cast<std::size_t>(why)) += record.failed(why);
        }
    }
};

/// `each` of every kind meet until they close.
void everybody_meets(std::size_t each, tally& all) {
    constexpr std::size_t kinds = 9;
    const std::size_t participants = each * kinds;
    scene s(participants);
    {
        net::io_context context;
        net::thread_pool pool(2);
        asio::task_executor tasks(context);
        asio::task_executor pooled_tasks(pool);
        run_loop loop;
        std::vector<std::jthread> running;
        for (std::size_t number = 0; number != participants;) {
            const auto strand = net::make_strand(pool);
            net::co_spawn(context, awaitable_party(s, number++), net::detached);
            net::co_spawn(strand, awaitable_party(s, number++), net::detached);
            start_callbacks(s, number++, net::make_strand(pool));
            start_cancelled(s, number++, net::make_strand(pool));
            start_cancelled(s, number++, context.get_executor(), &loop);
            tasks.spawn(coroutine_party<task<>>(s, number++));
            pooled_tasks.spawn(coroutine_party<task<>>(s, number++));
            loop.spawn(coroutine_party<task<>>(s, number++));
            running.emplace_back([&s, mine = number++] {
                blocking_party(s, mine, [](auto&& operation) { return sync_wait(operation); });
            });
        }
        running.emplace_back([&loop] { loop.run(); });
        running.emplace_back([&context] { context.run(); });
        running.emplace_back([&s, &log = s.record[participants]] { press_and_close(s, log); });
        s.left.wait();
        loop.stop();
        running.clear();
        pool.join();
    }
    EXPECT_EQ(s.record.violations_at_rest(), "");
    EXPECT_EQ(s.items.alive.load(), 0) << "items leaked, or died twice";
    all.add(s.record);
}

TEST(AsioStress, ConservesEveryItemHoweverTheWaitsEnd) {
    using detail::step;
    constexpr std::array steps{step::claim_in_wait_list, step::claim_in_arena, step::offer_in_arena,
                               step::expiry, step::stop};
    forget_steps();
    tally all;
    const stress_time time;
    while (time.goes_on([&] {
        return std::apply([](auto... s) { return missing(s...); }, steps);
    }) && !HasFailure()) {
        everybody_meets(1, all);
        everybody_meets(2, all);
    }
    EXPECT_GT(all.exchanges, 1000U);
    for (const auto why : all_errors) {
        EXPECT_GT(all.failures.at(static_cast<std::size_t>(why)), 0U)
            << make_error_code(why).message();
    }
    for (const auto taken : steps) {
        EXPECT_GT(count_of(taken), 0) << "step " << static_cast<int>(taken);
    }
    for (const auto& way : cancelled) {
        EXPECT_GT(way.load(), 10U);
    }
}

/// A context whose parties are still meeting others, and being stopped, when it is stopped and
/// destroyed.
void a_context_ends(std::size_t seed, std::size_t& abandoned, tally& all) {
    constexpr std::size_t on_context = 8;
    constexpr std::size_t threads = 2;
    scene s(on_context + threads);
    auto& log = s.record[on_context + threads];
    std::barrier start(threads + 3);
    std::atomic<bool> over{false};
    std::vector<std::jthread> others;
    for (std::size_t i = 0; i != threads; ++i) {
        others.emplace_back([&s, &start, number = on_context + i] {
            start.arrive_and_wait();
            blocking_party(s, number, [](auto&& operation) { return sync_wait(operation); });
        });
    }
    std::jthread presser([&] {
        start.arrive_and_wait();
        while (!over.load()) {
            s.button.press(log);
            std::this_thread::yield();
        }
    });
    {
        auto context = std::make_unique<net::io_context>();
        std::optional<asio::task_executor<net::io_context::executor_type>> tasks(*context);
        for (std::size_t number = 0; number != on_context;) {
            net::co_spawn(*context, awaitable_party(s, number++), net::detached);
            start_callbacks(s, number++, context->get_executor());
            start_cancelled(s, number++, context->get_executor());
            tasks->spawn(coroutine_party<task<>>(s, number++));
        }
        std::jthread runner([&] {
            start.arrive_and_wait();
            context->run_for(std::chrono::microseconds(100 * (seed % 20)));
        });
        start.arrive_and_wait();
        runner.join();
        if (seed % 2 == 0) {
            tasks.reset();
        }
        context.reset();
    }
    over = true;
    presser.join();
    log.close(0, [&s] { s.ex.close(); });
    others.clear();
    EXPECT_EQ(s.record.violations(), "");
    EXPECT_EQ(s.items.alive.load(), 0) << "items leaked, or died twice";
    abandoned += s.record.abandoned();
    all.add(s.record);
}

TEST(AsioStress, AContextMayEndWhileOthersCompleteItsWaiters) {
    tally all;
    std::size_t abandoned = 0;
    std::size_t seed = 0;
    const stress_time time;
    while (time.goes_on([&] { return abandoned == 0; }) && !HasFailure()) {
        a_context_ends(seed++, abandoned, all);
    }
    EXPECT_GT(abandoned, 10U);
    EXPECT_GT(all.exchanges, 100U);
    EXPECT_GT(all.failures.at(static_cast<std::size_t>(exchange_errc::cancelled)), 10U);
}

} // namespace
} // namespace tryst::test
