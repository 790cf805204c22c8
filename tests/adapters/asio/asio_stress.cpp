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

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

namespace net = ::asio;

/// Exchanges in every way by `wait` until the exchanger is closed.
net::awaitable<void> awaitable_party(scene& s, std::size_t number) {
    dice random(number);
    bool open = true;
    for (long i = 0; open; ++i) {
        turn t(s, number, i, random);
        if (t.tries()) {
            open = t.end(s.ex.try_exchange(t.item()));
        } else if (t.has_both()) {
            open = t.end(co_await asio::wait(s.ex.exchange(t.item(), t.patience, t.stop)));
        } else if (t.has_deadline()) {
            open = t.end(co_await asio::wait(s.ex.exchange(t.item(), t.patience)));
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
            asio::async_wait(scene_.ex.exchange(t.item(), t.patience), handler());
        } else {
            asio::async_wait(scene_.ex.exchange(t.item()), handler());
        }
    }

private:
    auto handler() {
        return asio::bind_stop_token(
            turn_->stop, net::bind_executor(executor_, [self = this->shared_from_this()](
                                                           const exchange_result<tracked>& result) {
                EXPECT_TRUE(self->executor_.running_in_this_thread());
                self->ended(result);
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
        const long given = first_item(number) + i;
        const auto stop = static_cast<history::stop_id>(given) | (1ULL << 62U);
        auto entry = s.record[number].begin({.given = given, .stop = stop});
        by->item = i;
        cancel_soon(s, number, by, i, stop, executor, i % 4);
        tracked item(s.items, given);
        maybe got;
        if (i % 3 == 0) {
            got = co_await asio::wait(s.ex.exchange(std::move(item)));
        } else if (i % 3 == 1) {
            auto [end] = co_await asio::async_wait(s.ex.exchange(std::move(item)),
                                                   tryst::test::as_tuple(net::use_awaitable));
            got = std::move(end);
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
    const auto has_failed = [&all](exchange_errc why) {
        return all.failures.at(static_cast<std::size_t>(why)) != 0;
    };
    while (time.goes_on([&] {
        return all.exchanges <= 100 || !std::ranges::all_of(all_errors, has_failed) ||
               std::apply([](auto... s) { return missing(s...); }, steps) ||
               std::ranges::any_of(cancelled, [](const auto& way) { return way.load() <= 10; });
    }) && !HasFailure()) {
        everybody_meets(1, all);
        everybody_meets(2, all);
    }
    EXPECT_GT(all.exchanges, 100U);
    for (const auto why : all_errors) {
        EXPECT_TRUE(has_failed(why)) << make_error_code(why).message();
    }
    for (const auto taken : steps) {
        EXPECT_GT(count_of(taken), 0) << "step " << static_cast<int>(taken);
    }
    for (const auto& way : cancelled) {
        EXPECT_GT(way.load(), 10U);
    }
}

/// Threads that exchange from outside of a context, and one that presses the stop button. It closes
/// in the end: while the context is being destroyed, if `early`, or after that.
class outsiders {
public:
    static constexpr std::size_t threads = 2;

    outsiders(scene& s, std::size_t first, bool early, std::ptrdiff_t insiders)
        : start_(static_cast<std::ptrdiff_t>(threads) + 1 + insiders) {
        for (std::size_t i = 0; i != threads; ++i) {
            running_.emplace_back([this, &s, number = first + i] {
                start();
                blocking_party(s, number, [](auto&& operation) { return sync_wait(operation); });
            });
        }
        running_.emplace_back([this, &s, &log = s.record[first + threads], early] {
            start();
            while (!(early ? ending_ : ended_).load()) {
                s.button.press(log);
                std::this_thread::yield();
            }
            log.close(0, [&s] { s.ex.close(); });
        });
    }

    void start() { start_.arrive_and_wait(); }

    /// Destroys the context. Returns when all outsiders have ended.
    template <class Context>
    void destroy(std::unique_ptr<Context>& context) {
        ending_ = true;
        context.reset();
        ended_ = true;
        running_.clear();
    }

private:
    std::barrier<> start_;
    std::atomic<bool> ending_{false};
    std::atomic<bool> ended_{false};
    std::vector<std::jthread> running_;
};

/// What the scenes in which contexts end have seen.
struct endings {
    tally all;
    std::size_t abandoned = 0;

    void add(const scene& s) {
        EXPECT_EQ(s.record.violations(), "");
        EXPECT_EQ(s.items.alive.load(), 0) << "items leaked, or died twice";
        abandoned += s.record.abandoned();
        all.add(s.record);
    }
    /// Whether each way in which a wait can end has been seen.
    bool is_complete() const {
        const auto failed = [&](exchange_errc why) {
            return all.failures.at(static_cast<std::size_t>(why));
        };
        return abandoned > 10 && all.exchanges > 100 && failed(exchange_errc::cancelled) > 0 &&
               failed(exchange_errc::timed_out) > 0 && failed(exchange_errc::closed) > 0;
    }
};

/// A context whose parties are still meeting others, and being stopped, when it is stopped and
/// destroyed.
void a_context_ends(std::size_t seed, endings& seen) {
    constexpr std::size_t on_context = 8;
    scene s(on_context + outsiders::threads);
    {
        auto context = std::make_unique<net::io_context>();
        std::optional<asio::task_executor<net::io_context::executor_type>> tasks(*context);
        for (std::size_t number = 0; number != on_context;) {
            net::co_spawn(*context, awaitable_party(s, number++), net::detached);
            start_callbacks(s, number++, context->get_executor());
            start_cancelled(s, number++, context->get_executor());
            tasks->spawn(coroutine_party<task<>>(s, number++));
        }
        outsiders others(s, on_context, seed % 4 >= 2, 1);
        others.start();
        context->run_for(std::chrono::microseconds(100 * (seed % 20)));
        if (seed % 2 == 0) {
            tasks.reset();
        }
        others.destroy(context);
    }
    seen.add(s);
}

TEST(AsioStress, AContextMayEndWhileOthersCompleteItsWaiters) {
    endings seen;
    std::size_t seed = 0;
    const stress_time time;
    while (time.goes_on([&] { return !seen.is_complete(); }) && !HasFailure()) {
        a_context_ends(seed++, seen);
    }
    EXPECT_TRUE(seen.is_complete());
}

/// Lets `threads` threads run an io_context for a while.
void run_for(net::io_context& context, std::size_t threads, outsiders& others,
             std::chrono::microseconds time) {
    std::vector<std::jthread> running;
    for (std::size_t i = 0; i != threads; ++i) {
        running.emplace_back([&] {
            others.start();
            context.run_for(time);
        });
    }
}

/// The threads of a pool run already.
void run_for(net::thread_pool& pool, std::size_t /*threads*/, outsiders& others,
             std::chrono::microseconds time) {
    others.start();
    for (const auto end = steady::now() + time; steady::now() < end;) {
        std::this_thread::yield();
    }
    pool.stop();
    pool.join();
}

/// A context of several threads. Its parties wait with deadlines, and are cancelled by their slots,
/// on strands; some awaitables wait without a strand.
template <class Context>
void strands_end(std::size_t threads, std::size_t seed, endings& seen) {
    constexpr std::size_t on_context = 8;
    scene s(on_context + outsiders::threads);
    {
        auto context = std::make_unique<Context>(threads);
        for (std::size_t number = 0; number != on_context;) {
            net::co_spawn(*context, awaitable_party(s, number++), net::detached);
            net::co_spawn(net::make_strand(*context), awaitable_party(s, number++), net::detached);
            start_callbacks(s, number++, net::make_strand(*context));
            start_cancelled(s, number++, net::make_strand(*context));
        }
        constexpr bool is_pool = std::is_same_v<Context, net::thread_pool>;
        outsiders others(s, on_context, seed % 4 >= 2,
                         is_pool ? 1 : static_cast<std::ptrdiff_t>(threads));
        run_for(*context, threads, others, std::chrono::microseconds(100 * (seed % 20)));
        others.destroy(context);
    }
    seen.add(s);
}

TEST(AsioStress, StrandsMayEndWhileTheirWaitersAreCancelledAndTimedOut) {
    endings seen;
    std::size_t seed = 0;
    const stress_time time;
    while (time.goes_on([&] { return !seen.is_complete(); }) && !HasFailure()) {
        for (const std::size_t threads : {1U, 2U, 4U}) {
            strands_end<net::io_context>(threads, seed, seen);
            strands_end<net::thread_pool>(threads, seed, seen);
        }
        ++seed;
    }
    EXPECT_TRUE(seen.is_complete());
}

/// Waits with deadlines on two threads of a pool, while others match them.
void deadlines_meet_partners(tally& all) {
    constexpr std::size_t on_pool = 6;
    constexpr std::size_t threads = 2;
    scene s(on_pool + threads);
    {
        net::thread_pool pool(2);
        for (std::size_t number = 0; number != on_pool;) {
            net::co_spawn(pool, awaitable_party(s, number++), net::detached);
            net::co_spawn(net::make_strand(pool), awaitable_party(s, number++), net::detached);
        }
        std::vector<std::jthread> running;
        for (std::size_t i = 0; i != threads; ++i) {
            running.emplace_back([&s, number = on_pool + i] {
                blocking_party(s, number, [](auto&& operation) { return sync_wait(operation); });
            });
        }
        press_and_close(s, s.record[on_pool + threads]);
        s.left.wait();
        pool.join();
    }
    EXPECT_EQ(s.record.violations_at_rest(), "");
    EXPECT_EQ(s.items.alive.load(), 0) << "items leaked, or died twice";
    all.add(s.record);
}

TEST(AsioStress, DeadlinesOfAPoolTakeNoItemFromAPartner) {
    const auto timed_out = [](const tally& all) {
        return all.failures.at(static_cast<std::size_t>(exchange_errc::timed_out));
    };
    tally all;
    const stress_time time;
    const auto is_missing = [&] { return timed_out(all) <= 10 || all.exchanges <= 100; };
    while (time.goes_on(is_missing) && !HasFailure()) {
        deadlines_meet_partners(all);
    }
    EXPECT_GT(timed_out(all), 10U);
    EXPECT_GT(all.exchanges, 100U);
}

} // namespace
} // namespace tryst::test
