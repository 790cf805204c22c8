// SPDX-License-Identifier: MIT
// What ends a wait, for all forms of waiting. The outcome follows from two rules:
//   1. A match wins over every other event that comes while the party is there.
//   2. Otherwise the first event wins. A signal, a stop or a deadline comes when it is in force,
//      which is after the first turn (docs/adr/0003-limits-after-a-turn.md).
#include "adapters/asio/counting_allocator.hpp"
#include "adapters/asio/forms.hpp"
#include "adapters/asio/handlers.hpp"
#include "support/long_past.hpp"
#include "support/tracked.hpp"
#include "support/waiting_partners.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <latch>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::test::all_forms;
using tryst::test::census;
using tryst::test::ended;
using tryst::test::form;
using tryst::test::limit;
using tryst::test::nobody;
using tryst::test::nothing_got;
using tryst::test::own_id;
using tryst::test::partners_id;
using tryst::test::scene;
using tryst::test::step;
using tryst::test::tracked;
namespace net = tryst::test::net;
using steady = std::chrono::steady_clock;

enum class event : std::uint8_t { partner, signal, stop, deadline, close, no_place, no_context };
constexpr event all_events[] = {event::partner, event::signal,   event::stop,      event::deadline,
                                event::close,   event::no_place, event::no_context};
const char* name_of(event what) {
    constexpr const char* names[] = {"partner", "signal",   "stop",      "deadline",
                                     "close",   "no place", "no context"};
    return names[static_cast<int>(what)];
}

class Waiting : public ::testing::TestWithParam<form> {};
INSTANTIATE_TEST_SUITE_P(, Waiting, ::testing::ValuesIn(all_forms()),
                         [](const auto& of) { return of.param.name; });

ended matched(const form& of) {
    return {{}, of.gets ? std::optional(partners_id) : std::nullopt};
}
ended failed(const form& of, exchange_errc why) {
    return {make_error_code(why), of.brings ? std::optional(own_id) : std::nullopt};
}

/// Plays events for one party, and knows how it must end.
class play {
public:
    static constexpr std::chrono::nanoseconds shortly = 300us;
    static constexpr int most_turns = 2; ///< Until the party only waits.

    play(const form& of, bool in_arena, int turns, std::chrono::nanoseconds patience) : s_(of) {
        const bool moves = in_arena && s_.at->grow();
        in_force_ = turns == most_turns || (!moves && (turns != 0 || of.limits == limit::none));
        s_.patience = patience;
        start_ = steady::now();
        s_.start_and_offer();
        if (turns == most_turns) {
            s_.io->poll();
        } else if (turns != 0) {
            s_.io->poll_one();
        }
        if (s_.end && patience < shortly * 2) { // on a busy machine
            fail(exchange_errc::timed_out);
        } else {
            EXPECT_FALSE(s_.io->stopped()) << "the context has no outstanding work";
        }
        EXPECT_EQ(s_.end, expected_);
    }

    /// Whether a form of waiting knows the event.
    static bool happens_to(const form& of, event what) {
        switch (what) {
        case event::signal:
            return of.signal != form::way::none;
        case event::stop:
            return of.stop != form::way::none;
        case event::deadline:
            return has_deadline(of.limits);
        default:
            return true;
        }
    }

    void happens(event what) {
        switch (what) {
        case event::partner:
            return meet();
        case event::signal:
            s_.signal.emit(net::cancellation_type::terminal);
            return request(s_.of.signal);
        case event::stop:
            s_.source.request_stop();
            return request(s_.of.stop);
        case event::deadline:
            return expire();
        case event::close:
            if (s_.at != nullptr) {
                s_.at->close();
            }
            return fail(exchange_errc::closed);
        case event::no_place:
            s_.at.reset();
            return fail(exchange_errc::closed);
        case event::no_context:
            s_.io.reset();
        }
    }

    /// Runs all handlers, so that what has been requested takes effect.
    void turns() {
        s_.run();
        const ended cancelled = failed(s_.of, exchange_errc::cancelled);
        if (requested_ && (!expected_ || (may_be_cancelled_ && s_.end == cancelled))) {
            expected_ = cancelled;
        }
        EXPECT_EQ(s_.end, expected_);
    }

    void ends() {
        if (s_.io != nullptr) {
            turns();
            EXPECT_TRUE(s_.end);
            EXPECT_TRUE(s_.io->stopped()) << "work is left";
            if (s_.of.signal == form::way::direct) { // the slot of a coroutine belongs to Asio
                EXPECT_FALSE(s_.signal.slot().has_handler());
            }
        }
        EXPECT_EQ(s_.frames.alive.load(), 0);
        EXPECT_EQ(s_.items.alive.load(), 0);
        if (s_.at != nullptr) {
            EXPECT_EQ(s_.at->meet(s_.items), nobody);
        }
    }

private:
    void meet() {
        if (s_.at == nullptr) {
            return;
        }
        const long got = s_.at->meet(s_.items);
        if (got == nobody && may_be_cancelled_) {
            fail(exchange_errc::cancelled);
        } else if (got == nobody && is_late()) { // on a busy machine
            fail(exchange_errc::timed_out);
        }
        if (expected_) {
            EXPECT_EQ(got, nobody);
        } else {
            EXPECT_EQ(got, s_.of.brings ? own_id : nothing_got);
            expected_ = matched(s_.of);
            may_be_cancelled_ = false;
        }
    }
    void request(form::way how) {
        if (expected_) {
            return;
        }
        requested_ = true;
        if (how == form::way::later || (!in_force_ && s_.of.has_own_turns)) {
            may_be_cancelled_ = true;
        } else if (in_force_) {
            fail(exchange_errc::cancelled);
        }
    }
    void fail(exchange_errc why) {
        if (!expected_) {
            expected_ = failed(s_.of, why);
        }
    }
    bool is_late() const { return steady::now() - start_ >= s_.patience; }
    /// Waits until the deadline has passed.
    void expire() {
        if (!expected_) {
            s_.io->restart();
            while (!s_.end && s_.io->run_one() != 0) {
            }
            EXPECT_TRUE(is_late()) << "early";
            fail(exchange_errc::timed_out);
        }
        while (!is_late()) {
            std::this_thread::yield();
        }
    }

    scene s_;
    bool in_force_; ///< Whether the limits are.
    steady::time_point start_;
    bool requested_ = false;
    bool may_be_cancelled_ = false; ///< The request may be on its way.
    std::optional<ended> expected_;
};

TEST_P(Waiting, EndsWithTheFirstEventButAMatchWins) {
    const form& of = GetParam();
    for (const event first : all_events) {
        for (const event second : all_events) {
            const bool expires = first == event::deadline || second == event::deadline;
            if (!play::happens_to(of, first) || !play::happens_to(of, second) ||
                first == event::no_context ||
                (second == event::deadline && first != event::partner)) {
                continue;
            }
            for (int round = 0; round != 4 * (play::most_turns + 1); ++round) {
                const bool in_arena = round % 2 != 0;
                const bool apart = round / 2 % 2 != 0;
                const int turns = round / 4;
                SCOPED_TRACE(std::string(name_of(first)) + ", " + name_of(second) + ", " +
                             std::to_string(in_arena) + " slots, after " + std::to_string(turns) +
                             " turns" + (apart ? ", apart" : ""));
                play p(of, in_arena, turns, expires ? play::shortly : 1h);
                p.happens(first);
                if (apart) {
                    p.turns();
                }
                p.happens(second);
                p.ends();
                if (HasFailure()) {
                    return;
                }
            }
        }
    }
}

/// Expects that a party has ended like this, and that nothing is left of it.
void expect_ended(scene& s, const ended& how) {
    s.run();
    EXPECT_EQ(s.end, how);
    EXPECT_EQ(s.frames.alive.load(), 0);
    EXPECT_EQ(s.items.alive.load(), 0);
    EXPECT_TRUE(s.io->stopped()) << "work is left";
    EXPECT_EQ(s.at->meet(s.items), nobody);
}

TEST_P(Waiting, TakesAPartnerThatWaitsEvenIfItsTimeIsOver) {
    const form& of = GetParam();
    int stayed = 0;
    for (const std::chrono::nanoseconds patience : {std::chrono::nanoseconds(1h), 0ns, -1ns}) {
        scene s(of);
        s.patience = patience;
        s.at->invite(s);
        s.run();
        s.io->restart();
        s.start_and_offer();
        EXPECT_EQ(s.items.created.load(), of.brings + of.gets) << "copies";
        stayed += s.end ? 1 : 0;
        expect_ended(s, matched(of));
        EXPECT_EQ(s.partner, (ended{{}, of.brings ? std::optional(own_id) : std::nullopt}));
    }
    EXPECT_EQ(stayed >= 2, of.stays); // each thread lets others run after some matches
}

TEST_P(Waiting, EndsWithoutAnOfferIfItMayNotWait) {
    const form& of = GetParam();
    const auto check = [&of](exchange_errc why, auto prepare) {
        scene s(of);
        prepare(s);
        s.start();
        EXPECT_FALSE(s.end) << "within the initiation";
        expect_ended(s, failed(of, why));
    };
    check(exchange_errc::closed, [](scene& s) { s.at->close(); });
    if (has_stop(of.limits) && of.stop == form::way::direct) {
        check(exchange_errc::cancelled, [](scene& s) { s.source.request_stop(); });
    }
    if (has_deadline(of.limits)) {
        for (const auto patience : {0ns, -1ns, std::chrono::nanoseconds::min()}) {
            check(exchange_errc::timed_out, [&](scene& s) { s.patience = patience; });
        }
        for (const auto deadline : tryst::test::long_past) {
            check(exchange_errc::timed_out, [&](scene& s) { s.deadline = deadline; });
        }
    }
}

TEST_P(Waiting, LeavesAPartnerAloneIfItWasStoppedBefore) {
    const form& of = GetParam();
    if (!has_stop(of.limits) || of.stop != form::way::direct) {
        return;
    }
    scene s(of);
    s.at->invite(s);
    s.source.request_stop();
    s.start();
    s.run();
    EXPECT_EQ(s.end, failed(of, exchange_errc::cancelled));
    EXPECT_FALSE(s.partner);
}

TEST_P(Waiting, IsDestroyedWithItsContextBeforeAnyHandler) {
    for (int handlers = 0; handlers != 6; ++handlers) {
        for (const bool in_arena : {false, true}) {
            scene s(GetParam());
            if (in_arena) {
                s.at->grow();
            }
            s.start();
            for (int i = 0; i != handlers; ++i) {
                s.io->poll_one();
            }
            s.io.reset();
            EXPECT_EQ(s.frames.alive.load(), 0);
            EXPECT_EQ(s.items.alive.load(), 0);
            EXPECT_EQ(s.at->meet(s.items), nobody);
        }
    }
}

TEST_P(Waiting, MayBeMatchedOrClosedByAnotherThreadWhileItsContextEnds) {
    for (int round = 0; round != 12; ++round) {
        scene s(GetParam());
        s.start_and_offer();
        if (round % 4 != 0) {
            s.run();
        }
        std::latch there(2);
        std::thread other([&] {
            there.arrive_and_wait();
            for (int spin = 0; spin < 60 * round; ++spin) {
                std::atomic_signal_fence(std::memory_order_seq_cst);
            }
            if (round % 2 == 0) {
                s.at->close();
            } else {
                static_cast<void>(s.at->meet(s.items));
            }
        });
        there.arrive_and_wait();
        s.io.reset();
        other.join();
        ASSERT_EQ(s.frames.alive.load(), 0);
        ASSERT_EQ(s.items.alive.load(), 0);
        ASSERT_EQ(s.at->meet(s.items), nobody);
    }
}

TEST(WaitingTogether, AllFormsEndWithOneContext) {
    for (const bool has_begun : {false, true}) {
        auto io = std::make_shared<net::io_context>();
        std::deque<scene> scenes;
        for (const form& of : all_forms()) {
            scenes.emplace_back(of, io).start();
        }
        if (has_begun) {
            io->poll();
        }
        for (scene& s : scenes) {
            s.io.reset();
        }
        io.reset();
        for (scene& s : scenes) {
            SCOPED_TRACE(s.of.name);
            EXPECT_EQ(s.frames.alive.load(), 0);
            EXPECT_EQ(s.items.alive.load(), 0);
            EXPECT_EQ(s.at->meet(s.items), nobody);
        }
    }
}

TEST(WaitingTogether, AllFormsKeepTheirDeadlinesInOneContext) {
    auto io = std::make_shared<net::io_context>();
    std::deque<scene> scenes;
    std::chrono::nanoseconds patience = 2ms;
    for (const form& of : all_forms()) {
        scene& s = scenes.emplace_back(of, io);
        s.patience = patience += 10us;
        s.start();
    }
    const auto missing = [&] {
        return std::ranges::count_if(scenes,
                                     [](scene& s) { return !s.end && has_deadline(s.of.limits); });
    };
    while (missing() != 0) {
        ASSERT_NE(io->run_one(), 0U);
    }
    for (scene& s : scenes) {
        SCOPED_TRACE(s.of.name);
        if (has_deadline(s.of.limits)) {
            EXPECT_EQ(s.end, failed(s.of, exchange_errc::timed_out));
        } else {
            EXPECT_FALSE(s.end);
            s.at->close();
        }
    }
    io->run(); // no work is left
    for (scene& s : scenes) {
        EXPECT_TRUE(s.end) << s.of.name;
        EXPECT_EQ(s.frames.alive.load(), 0);
    }
}

// ---- Executors and memory, which are the same for all forms

class AsioHandler : public ::testing::Test {
protected:
    using exchanger = tryst::exchanger<tracked>;

    static constexpr int ways = 5;

    /// Begins a wait in each of these ways: exchanges and selections, without and with limits, and
    /// a task.
    template <class MakeToken>
    void start(int way, MakeToken make_token) {
        using tryst::asio::async_wait;
        const auto mine = [this] { return tracked(items, 1); };
        if (way == 0) {
            async_wait(ex.exchange(mine()), make_token());
        } else if (way == 1) {
            async_wait(ex.exchange(mine(), 1h, stop.get_token()), make_token());
        } else if (way == 2) {
            async_wait(tryst::select(ex.exchange(mine()), pipe.receive()), make_token());
        } else if (way == 3) {
            async_wait(tryst::select(pipe.receive(), ex.exchange(mine()), 1h), make_token());
        } else {
            async_wait([this](std::stop_token asked) { return exchange_in_task(std::move(asked)); },
                       make_token());
        }
    }
    tryst::task<> exchange_in_task(std::stop_token asked) {
        static_cast<void>(co_await ex.exchange(tracked(items, 1), asked));
    }
    /// Comes as the partner, when the party may have begun.
    bool meet() {
        while (!ex.try_exchange(tracked(items, 2))) {
            if (io.poll_one() == 0) {
                return false;
            }
        }
        return true;
    }

    census items;
    net::io_context io;
    std::stop_source stop;
    net::cancellation_signal signal;
    exchanger ex;
    tryst::synchronous_channel<tracked> pipe;
};

TEST_F(AsioHandler, IsCalledAfterTheOnlyBlockOfMemoryHasBeenFreed) {
    for (const event end : {event::partner, event::signal, event::no_context, event::close}) {
        for (int way = 0; way != ways; ++way) { // after the first close, the wait ends at once
            SCOPED_TRACE(std::to_string(way) + ", " + name_of(end));
            tryst::test::memory_account account;
            std::optional<net::io_context> context(std::in_place);
            bool called = false;
            const auto look = [&](const auto&...) {
                called = true;
                EXPECT_EQ(account.live(), 0);
            };
            start(way, [&] {
                return net::bind_cancellation_slot(signal.slot(),
                                                   tryst::test::accounted(*context, account, look));
            });
            EXPECT_EQ(account.live(), 1);
            step(*context);
            if (end == event::partner) {
                EXPECT_TRUE(meet());
            } else if (end == event::signal) {
                signal.emit(net::cancellation_type::terminal);
            } else if (end == event::close) {
                ex.close();
            } else {
                context.reset();
                EXPECT_EQ(account.live(), 0);
            }
            if (context) {
                step(*context);
            }
            EXPECT_EQ(called, end != event::no_context);
            EXPECT_EQ(account.allocated, 1);
        }
    }
}

TEST_F(AsioHandler, OffersNothingWithoutMemory) {
    for (int way = 0; way != ways; ++way) {
        const auto held = std::make_shared<int>();
        EXPECT_THROW(start(way, [&] { return net::bind_executor(io, tryst::test::unlucky{held}); }),
                     std::bad_alloc);
        EXPECT_EQ(held.use_count(), 1);
        EXPECT_FALSE(meet());
        EXPECT_EQ(items.alive.load(), 0);
        step(io);
        EXPECT_TRUE(io.stopped());
    }
}

TEST_F(AsioHandler, LetsItsExceptionOutOfTheContext) {
    for (int way = 0; way != ways; ++way) {
        start(way, [&] {
            return net::bind_executor(io,
                                      [](const auto&...) { throw std::runtime_error("handler"); });
        });
        io.restart();
        EXPECT_TRUE(meet());
        EXPECT_THROW(io.run(), std::runtime_error);
        EXPECT_EQ(items.alive.load(), 0);
        io.run();
        EXPECT_TRUE(io.stopped());
    }
}

TEST_F(AsioHandler, WithoutAnExecutorRunsOnTheSystemExecutor) {
    for (int way = 0; way != ways; ++way) {
        std::promise<std::thread::id> ran;
        start(way, [&] {
            return [&](const auto&... /*results*/) { ran.set_value(std::this_thread::get_id()); };
        });
        EXPECT_TRUE(tryst::sync_wait(ex.exchange(tracked(items, 2))));
        EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
    }
    while (items.alive.load() != 0) { // the other thread may destroy its result now
        std::this_thread::yield();
    }
}

TEST_F(AsioHandler, RunsInItsStrandAfterAMatchOnAnotherThread) {
    net::thread_pool pool(2);
    for (int way = 0; way != ways; ++way) {
        const auto strand = net::make_strand(pool);
        std::promise<bool> in_strand;
        start(way, [&] {
            return net::bind_executor(strand, [&](const auto&...) {
                in_strand.set_value(strand.running_in_this_thread());
            });
        });
        EXPECT_TRUE(tryst::sync_wait(ex.exchange(tracked(items, 2))));
        EXPECT_TRUE(in_strand.get_future().get());
    }
    pool.join();
}

TEST(AsioWait, GoesOnInItsStrandAfterAMatchOnAnotherThread) {
    tryst::exchanger<int> ex;
    net::thread_pool pool(2);
    const auto strand = net::make_strand(pool);
    constexpr int rounds = 500;
    net::co_spawn(
        strand,
        [&]() -> net::awaitable<void> {
            for (int i = 0; i != rounds; ++i) {
                const auto theirs = co_await tryst::asio::wait(ex.exchange(i));
                EXPECT_EQ(*theirs, -i);
                EXPECT_TRUE(strand.running_in_this_thread());
            }
        },
        net::detached);
    for (int i = 0; i != rounds; ++i) {
        EXPECT_EQ(*tryst::sync_wait(ex.exchange(-i)), i);
    }
    pool.join();
}

TEST(AsioWait, LetsOtherHandlersRunIfAPartnerIsWaitingEachTime) {
    net::io_context io;
    tryst::synchronous_channel<int> channel;
    const tryst::test::waiting_partners partners(channel);
    int done = 0;
    int seen = -1;
    net::co_spawn(
        io,
        [&]() -> net::awaitable<void> {
            net::post(io, [&] { seen = done; });
            while (done != tryst::test::waiting_partners::count) {
                auto sent = co_await tryst::asio::wait(channel.send(done));
                EXPECT_TRUE(sent);
                ++done;
            }
        },
        net::detached);
    step(io);
    EXPECT_EQ(done, tryst::test::waiting_partners::count);
    EXPECT_LE(seen, tryst::test::budget + 1);
}

#ifndef _WIN32 // where Asio queues larger blocks
/// What the comments on `wait` and docs/asio.md say of memory on 64-bit Linux.
TEST(WaitMemory, IsAsLittleAsThePageSays) {
    namespace detail = tryst::asio::detail;
    using executor = net::io_context::executor_type;
    using core =
        detail::core_of<decltype(std::declval<tryst::synchronous_channel<long>&>().receive())>;
    using handler = net::executor_binder<void (*)(core::result), executor>;
    if (sizeof(void*) == 8) {
        EXPECT_LE(sizeof(core::result), 24U);
        EXPECT_LE(sizeof(core), 80U);
        EXPECT_LE(sizeof(detail::registered_executor), 80U);
        EXPECT_LE(sizeof(detail::operation_state<handler, core>), 300U);
    }
}
#endif

/// There are more parties than cells in a segment of the queue. Every second one is cancelled.
TEST(AsioWaitInLine, IsServedInOrderAlsoAfterCancellations) {
    const auto check = [](auto order) {
        constexpr std::size_t count = 200;
        tryst::red_blue_exchanger<std::size_t, int, order.value> ex;
        net::io_context io;
        std::deque<net::cancellation_signal> signals(count);
        std::vector<tryst::exchange_result<int, std::size_t>> ends;
        for (std::size_t i = 0; i != count; ++i) {
            tryst::asio::async_wait(
                ex.red(i), net::bind_cancellation_slot(signals[i].slot(),
                                                       net::bind_executor(io, [&](const auto& end) {
                                                           ends.push_back(end);
                                                       })));
        }
        step(io);
        for (std::size_t i = 1; i < count; i += 2) {
            signals[i].emit(net::cancellation_type::terminal);
        }
        step(io);
        ASSERT_EQ(ends.size(), count / 2);
        for (std::size_t i = 0; i != count / 2; ++i) {
            EXPECT_EQ(ends[i].error(), exchange_errc::cancelled);
            EXPECT_EQ(ends[i].returned(), 2 * i + 1);
            const std::size_t met = order.value == tryst::order::fifo ? i : count / 2 - 1 - i;
            EXPECT_EQ(*ex.try_blue(7), 2 * met);
        }
        EXPECT_FALSE(ex.try_blue(7));
        step(io);
        EXPECT_EQ(ends.size(), count);
    };
    check(std::integral_constant<tryst::order, tryst::order::fifo>());
    check(std::integral_constant<tryst::order, tryst::order::lifo>());
}

} // namespace
