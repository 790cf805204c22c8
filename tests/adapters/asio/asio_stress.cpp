// SPDX-License-Identifier: MIT
// Coroutines of Asio on contexts, pools and strands, in each way that they can wait, against tasks
// and threads. Waits end in every way, and contexts are destroyed meanwhile. What the parties did
// must have been possible, no item may be lost, and every path must be taken.
#include "adapters/asio/net.hpp"
#include "stress/choices.hpp"
#include "stress/play.hpp"
#include "stress/step_counts.hpp"
#include "support/insides.hpp"
#include "support/loop_thread.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

/// How an awaitable of Asio waits. In each way but the first, a stop is a cancellation by Asio.
enum class way : std::uint8_t { wait, token, callback, coroutine, task };
constexpr std::size_t ways = 5;

/// How many waits have been cancelled in each of them.
std::array<std::atomic<long>, ways> cancelled{};

/// Makes awaitables that wait in one way after the other.
class awaitables {
public:
    using operation = net::awaitable<void>;

    /// @param is_here    whether the caller is where the party must go on. Only one handler at a
    ///   time runs there, so Asio can cancel the waits. Null if several do.
    /// @param elsewhere  where tasks end; null if they end where they began.
    explicit awaitables(std::function<bool()> is_here, run_loop* elsewhere = nullptr)
        : is_here_(std::move(is_here)), elsewhere_(elsewhere) {}

    template <class Make, class End>
    operation make(const wait_limits& limits, const Make& make, const End& end) {
        const way how = next();
        const auto enter = [how, end, this](auto got) {
            EXPECT_TRUE(!is_here_ || is_here_());
            if (got.error() == exchange_errc::cancelled) {
                ++cancelled.at(static_cast<std::size_t>(how));
            }
            end(std::move(got));
        };
        const std::stop_token stop = limits.stop.value_or(std::stop_token());
        if (how == way::wait) {
            return wait_plainly(limits, make, enter);
        }
        const bool is_untimed = how == way::token || how == way::callback;
        if (stop.stop_requested() /* Asio would cancel it later */ ||
            (is_untimed && (!limits.stop || limits.patience))) {
            return wait_plainly(limits, make, end);
        }
        const auto patience = limits.patience.value_or(std::chrono::hours(1));
        const auto start = [make, patience](auto... own_stop) {
            return make(patience, own_stop...);
        };
        switch (how) {
        case way::token:
            return wait_with_token(make, enter, stop);
        case way::callback:
            return wait_with_callback(make, enter, stop);
        case way::coroutine:
            return wait_in_coroutine(start, enter, end, stop);
        default:
            return wait_in_task(start, enter, stop, elsewhere_);
        }
    }

private:
    way next() { return is_here_ ? static_cast<way>(count_++ % ways) : way::wait; }

    template <class Make, class End>
    static operation wait_plainly(wait_limits limits, Make make, End end) {
        if (limits.patience && limits.stop) {
            end(co_await asio::wait(make(*limits.patience, *limits.stop)));
        } else if (limits.patience) {
            end(co_await asio::wait(make(*limits.patience)));
        } else if (limits.stop) {
            end(co_await asio::wait(make(*limits.stop)));
        } else {
            end(co_await asio::wait(make()));
        }
    }

    template <class Make, class End>
    static operation wait_with_token(Make make, End end, std::stop_token stop) {
        auto [got] = co_await asio::async_wait(
            make(), asio::bind_stop_token(stop, as_tuple(net::use_awaitable)));
        end(std::move(got));
    }

    template <class Make, class End>
    static operation wait_with_callback(Make make, End end, std::stop_token stop) {
        const auto initiate = [&](auto go_on) {
            const auto executor = net::get_associated_executor(go_on);
            auto handler = [end, go_on = std::move(go_on)](auto got) mutable {
                end(std::move(got));
                std::move(go_on)();
            };
            asio::async_wait(make(), asio::bind_stop_token(
                                         stop, net::bind_executor(executor, std::move(handler))));
        };
        net::use_awaitable_t<> token;
        co_await net::async_initiate<net::use_awaitable_t<>, void()>(initiate, token);
    }

    /// Its cancellation is that of the coroutine, unless that was cancelled before the wait.
    template <class Make, class End, class EndBefore>
    static operation wait_in_coroutine(Make make, End end, EndBefore end_before,
                                       std::stop_token stop) {
        const auto inner = [](Make made, End told, EndBefore told_before,
                              std::stop_token its) -> operation {
            co_await net::this_coro::throw_if_cancelled(false);
            const auto state = co_await net::this_coro::cancellation_state;
            if (state.cancelled() == net::cancellation_type::none) {
                told(co_await asio::wait(made()));
            } else {
                told_before(co_await asio::wait(made(std::move(its))));
            }
        };
        co_await net::co_spawn(co_await net::this_coro::executor,
                               inner(make, end, end_before, stop),
                               asio::bind_stop_token(stop, net::use_awaitable));
    }

    template <class Make, class End>
    static operation wait_in_task(Make make, End end, std::stop_token stop, run_loop* elsewhere) {
        const auto work = [&](std::stop_token by_slot) -> task<> {
            return [](Make made, End told, std::stop_token its, run_loop* other) -> task<> {
                told(co_await made(std::move(its)));
                if (other != nullptr) {
                    co_await other->schedule();
                }
            }(make, end, std::move(by_slot), elsewhere);
        };
        co_await asio::async_wait(work, asio::bind_stop_token(stop, net::use_awaitable));
    }

    std::function<bool()> is_here_;
    run_loop* elsewhere_;
    std::size_t count_ = 0;
};

template <class Venue>
net::awaitable<void> awaitable_party(meeting<Venue>& s, std::size_t number, awaitables how) {
    {
        chooser<Venue, awaitables> mine(s, number, how);
        while (!s.over.load(std::memory_order_relaxed)) {
            if (!mine.has_tried()) {
                co_await mine.choose();
            }
        }
    }
    s.left.count_down();
}

/// @param executor  runs one handler at a time.
template <class Venue, class Executor>
void spawn_serial(const Executor& executor, meeting<Venue>& s, std::size_t number,
                  run_loop* elsewhere = nullptr) {
    const auto is_here = [executor] { return executor.running_in_this_thread(); };
    net::co_spawn(executor, awaitable_party(s, number, awaitables(is_here, elsewhere)),
                  net::detached);
}

/// The parties of Asio, among others, until they close.
template <class Venue>
void everybody_meets(tally& all) {
    play<meeting<Venue>>(
        {.loops = 1, .coroutines = 2, .threads = 2}, all, 8, [](meeting<Venue>& s) {
            grow(s.ex[0], 2);
            net::io_context context;
            net::thread_pool pool(2);
            asio::task_executor tasks(context);
            asio::task_executor pooled_tasks(pool);
            loop_thread elsewhere;
            spawn_serial(context.get_executor(), s, 0);
            spawn_serial(context.get_executor(), s, 1, &*elsewhere);
            spawn_serial(net::make_strand(pool), s, 2);
            spawn_serial(net::make_strand(pool), s, 3, &*elsewhere);
            for (const std::size_t number : {4U, 5U}) {
                net::co_spawn(pool, awaitable_party(s, number, awaitables(nullptr)), net::detached);
            }
            tasks.spawn(coroutine_party<task<>>(s, 6));
            pooled_tasks.spawn(coroutine_party<task<>>(s, 7));
            context.run();
            pool.join();
        });
}

/// One party, all of whose waits end by a stop or a deadline.
template <class Venue>
void one_waits(tally& all) {
    play<meeting<Venue>>({.loops = 0}, all, 1, [](meeting<Venue>& s) {
        s.limits_all = true;
        net::io_context context;
        loop_thread elsewhere;
        spawn_serial(context.get_executor(), s, 0, &*elsewhere);
        context.run();
    });
}

/// What the scenes in which contexts end have seen.
struct endings {
    std::size_t abandoned = 0;
    std::size_t exchanged = 0;
    std::array<std::size_t, 3> failed{}; ///< Timed out, cancelled, and closed.

    template <class Venue>
    void add(const meeting<Venue>& s) {
        EXPECT_EQ(s.record.violations(), "");
        EXPECT_EQ(s.items.alive.load(), 0) << "items leaked, or died twice";
        abandoned += s.record.abandoned();
        exchanged += s.record.exchanged();
        failed[0] += s.record.failed(exchange_errc::timed_out);
        failed[1] += s.record.failed(exchange_errc::cancelled);
        failed[2] += s.record.failed(exchange_errc::closed);
    }
    bool is_complete() const {
        return abandoned > 10 && exchanged > 200 && !std::ranges::count(failed, 0U);
    }
};

/// Lets `threads` threads run the context for a while. Those of a pool run already.
void run_for(net::io_context& context, std::size_t threads, std::chrono::microseconds time) {
    std::vector<std::jthread> running;
    for (std::size_t i = 0; i != threads; ++i) {
        running.emplace_back([&] { context.run_for(time); });
    }
}
void run_for(net::thread_pool& pool, std::size_t /*threads*/, std::chrono::microseconds time) {
    for (const auto end = steady::now() + time; steady::now() < end;) {
        std::this_thread::yield();
    }
    pool.stop();
    pool.join();
}

/// A context whose parties are still meeting others, and being stopped and timed out, when it is
/// stopped and destroyed.
template <class Venue, class Context>
void a_context_ends(std::size_t threads, std::size_t seed, endings& seen) {
    constexpr std::size_t inside = 9;
    constexpr std::size_t outside = 2;
    meeting<Venue> s(inside + outside);
    {
        auto context = std::make_unique<Context>(threads);
        std::optional<asio::task_executor<typename Context::executor_type>> tasks(*context);
        for (std::size_t number = 0; number != inside; number += 3) {
            if (threads == 1) {
                spawn_serial(context->get_executor(), s, number);
            } else {
                net::co_spawn(*context, awaitable_party(s, number, awaitables(nullptr)),
                              net::detached);
            }
            spawn_serial(net::make_strand(*context), s, number + 1);
            tasks->spawn(coroutine_party<task<>>(s, number + 2));
        }
        std::latch start(outside + 2);
        std::atomic<bool> closes{false};
        std::vector<std::jthread> others;
        for (std::size_t i = 0; i != outside; ++i) {
            others.emplace_back([&, number = inside + i] {
                start.arrive_and_wait();
                thread_party(s, number);
            });
        }
        others.emplace_back([&, &log = s.record[inside + outside]] {
            start.arrive_and_wait();
            while (!closes) {
                s.button.press(log);
                std::this_thread::yield();
            }
            close_all(s, log);
        });
        start.arrive_and_wait();
        run_for(*context, threads, std::chrono::microseconds(100 * (seed % 20)));
        if (seed % 2 == 0) {
            tasks.reset();
        }
        closes = seed % 4 >= 2; // while the context is being destroyed, or after that
        context.reset();
        closes = true;
    }
    seen.add(s);
}

/// The steps that the parties of a venue must take.
template <class Venue>
std::vector<step> steps_of() {
    switch (Venue::choices) {
    case choice::pairs:
        return {step::claim_in_wait_list, step::claim_in_arena, step::offer_in_arena, step::expiry,
                step::stop};
    case choice::colours:
        return {step::claim_in_wait_list, step::stop};
    case choice::selections:
        return {step::commit, step::stale_claim, step::held_selection};
    }
    return {};
}

template <class Venue>
class AsioStress : public ::testing::Test {};
using venues = ::testing::Types<pairs, fifo_colours, lifo_colours, selections>;
TYPED_TEST_SUITE(AsioStress, venues, venue_names);

TYPED_TEST(AsioStress, ConservesEveryItemHoweverTheWaitsEnd) {
    const std::vector<step> steps = steps_of<TypeParam>();
    forget_steps();
    std::ranges::for_each(cancelled, [](auto& each) { each = 0; });
    tally all;
    const stress_time time;
    const auto some_are_missing = [&] {
        return !all.is_complete() ||
               std::ranges::any_of(steps, [](step s) { return count_of(s) == 0; }) ||
               std::ranges::any_of(cancelled, [](const auto& each) { return each <= 10; });
    };
    while (time.goes_on(some_are_missing) && !::testing::Test::HasFailure()) {
        everybody_meets<TypeParam>(all);
        one_waits<TypeParam>(all);
    }
    expect_exchanges_and_all_failures(all);
    for (const step taken : steps) {
        EXPECT_GT(count_of(taken), 0) << "step " << static_cast<int>(taken);
    }
    for (std::size_t how = 0; how != ways; ++how) {
        EXPECT_GT(cancelled.at(how), 10) << "way " << how;
    }
}

TYPED_TEST(AsioStress, AContextMayEndWhileOthersMatchItsWaiters) {
    endings seen;
    std::size_t seed = 0;
    const stress_time time;
    while (time.goes_on([&] { return !seen.is_complete(); }) && !::testing::Test::HasFailure()) {
        for (const std::size_t threads : {1U, 2U, 4U}) {
            a_context_ends<TypeParam, net::io_context>(threads, seed, seen);
            a_context_ends<TypeParam, net::thread_pool>(threads, seed, seen);
        }
        ++seed;
    }
    EXPECT_TRUE(seen.is_complete());
}

} // namespace
} // namespace tryst::test
