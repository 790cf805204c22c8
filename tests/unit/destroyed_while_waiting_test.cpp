// SPDX-License-Identifier: MIT
// Coroutines that are destroyed while they wait, with their loop or their scope: their frames are
// freed, their offers withdrawn, and whatever would have ended the wait finds nobody.
#include <tryst/run_loop.hpp>

#include <tryst/channel.hpp>
#include <tryst/select.hpp>
#include <tryst/sleep.hpp>
#include <tryst/synchronous_channel.hpp>
#include <tryst/task_scope.hpp>
#include <tryst/when_all.hpp>
#include <tryst/when_any.hpp>

#include "support/insides.hpp"
#include "support/manual_clock.hpp"
#include "support/works.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

/// Where parties wait for each other.
struct places {
    exchanger<tracked> ex{1};
    synchronous_channel<tracked> channel;
    synchronous_channel<tracked> unused;
    tryst::channel<tracked> full{0}; ///< Nobody has room.
    tryst::channel<tracked> empty{1};
};

/// A loop, and all that its work may wait for.
struct world {
    census kept;
    std::vector<tracked> many; ///< What batches send and receive.
    std::stop_source stop;
    run_loop elsewhere;
    std::optional<places> met{std::in_place};
    manual_clock::dial dial;
    std::unique_ptr<manual_loop> loop =
        std::make_unique<manual_loop>(run_loop_options{}, manual_clock(dial));

    tracked item() { return {kept, 0}; }
    std::stop_token token() const { return stop.get_token(); }

    void request_stop() { stop.request_stop(); }
    void come_to_exchange() { static_cast<void>(met->ex.try_exchange(item())); }
    void come_to_receive() { static_cast<void>(met->channel.try_receive()); }
    void come_to_send() { static_cast<void>(met->channel.try_send(item())); }
    void come_to_full() { static_cast<void>(met->full.try_receive()); }
    void come_to_empty() {
        static_cast<void>(met->empty.try_send(item()));
        static_cast<void>(met->empty.try_receive());
    }
    void finish_elsewhere() { elsewhere.run_until_idle(); }
    void nothing() {}
};

task<> exchange_once(world& w) {
    static_cast<void>(co_await w.met->ex.exchange(w.item()));
}

/// A task that waits once; `mark` shows how long its frame lives.
struct wait_kind {
    const char* name;
    void (world::*wake)(); ///< Ends the wait.
    task<> (*begin)(world& w, tracked mark);
    bool wakes_from_anywhere = true; ///< Also on another thread.
};

/// Awaits what `Make` makes, for ever.
template <class Make>
task<> wait(world& w, tracked) {
    static_cast<void>(co_await Make()(w));
    ADD_FAILURE() << "resumed";
}
template <class Make>
constexpr wait_kind waits(const char* name, void (world::*wake)(), Make) {
    return {name, wake, wait<Make>};
}
task<> join_in(world& w, tracked) {
    task_scope scope;
    scope.spawn(exchange_once(w));
    co_await scope.join();
    ADD_FAILURE() << "joined";
}

const wait_kind wait_kinds[]{
    waits("exchange in the arena", &world::come_to_exchange,
          [](world& w) {
              grow(w.met->ex);
              return w.met->ex.exchange(w.item());
          }),
    waits("exchange", &world::come_to_exchange,
          [](world& w) { return w.met->ex.exchange(w.item()); }),
    waits("exchange with a deadline", &world::come_to_exchange,
          [](world& w) { return w.met->ex.exchange(w.item(), 1h); }),
    waits("exchange with a deadline and a stop", &world::request_stop,
          [](world& w) { return w.met->ex.exchange(w.item(), 1h, w.token()); }),
    waits("send", &world::come_to_receive, [](world& w) { return w.met->channel.send(w.item()); }),
    waits("receive with a deadline and a stop", &world::request_stop,
          [](world& w) { return w.met->channel.receive(1h, w.token()); }),
    waits("select", &world::come_to_send,
          [](world& w) { return select(w.met->channel.receive(), w.met->unused.send(w.item())); }),
    waits("select with a deadline and a stop", &world::request_stop,
          [](world& w) {
              return select(w.met->channel.receive(), w.met->unused.receive(), 1h, w.token());
          }),
    waits("send to a full channel", &world::come_to_full,
          [](world& w) { return w.met->full.send(w.item()); }),
    waits("send_all with a deadline and a stop", &world::request_stop,
          [](world& w) {
              w.many.push_back(w.item());
              w.many.push_back(w.item());
              return w.met->full.send_all(w.many, 1h, w.token());
          }),
    waits("receive from an empty channel", &world::come_to_empty,
          [](world& w) { return w.met->empty.receive(); }),
    waits("receive_all with a deadline", &world::come_to_empty,
          [](world& w) { return w.met->empty.receive_all(w.many, 3, 1h); }),
    waits("select of channels", &world::come_to_empty,
          [](world& w) { return select(w.met->full.send(w.item()), w.met->empty.receive()); }),
    waits("sleep", &world::nothing, [](world&) { return sleep_for(1h); }),
    waits("sleep with a stop", &world::request_stop,
          [](world& w) { return sleep_for(1h, w.token()); }),
    waits("when_all", &world::come_to_exchange,
          [](world& w) { return when_all(exchange_once(w), keep(w.item()), sleep_for(1h)); }),
    waits("when_any", &world::request_stop,
          [](world& w) {
              return when_any([&w](auto stop) { return w.met->ex.exchange(w.item(), stop); }, 1h,
                              w.token());
          }),
    waits("a handle", &world::finish_elsewhere,
          [](world& w) { return w.elsewhere.spawn_future(give(w.item())); }),
    {"schedule elsewhere, whence it is to come home", &world::finish_elsewhere,
     wait<decltype([](world& w) { return hop(w.elsewhere, 1); })>,
     false}, // a frame must not be destroyed while it runs there
    {"join", &world::come_to_exchange, join_in},
};
constexpr const wait_kind& in_the_arena = wait_kinds[0];

/// How far the wait has come.
enum class moment { unstarted, first_turn, waiting, due, woken };
constexpr const char* moments[]{"unstarted", "in its first turn", "waiting", "due", "woken"};

void advance_to(moment now, world& w, const wait_kind& kind) {
    if (now == moment::first_turn) { // an offer may look for a partner until its turn ends
        w.loop->stop();
        w.loop->run();
    }
    if (now >= moment::waiting) {
        w.loop->run_until_idle();
    }
    if (now == moment::due) {
        w.dial.time += 2h;
    }
    if (now == moment::woken) {
        (w.*kind.wake)();
    }
}

/// What else may be destroyed before the coroutine.
enum class ending { loop, places_then_loop, scope };
constexpr const char* endings[]{"with its loop", "with its loop, after the exchanger",
                                "with its scope"};

class DestroyedWhileWaiting : public ::testing::TestWithParam<wait_kind> {
protected:
    /// After which nothing is left.
    static void end(ending how, moment when) {
        world w;
        std::optional<task_scope> scope(std::in_place, *w.loop);
        if (how == ending::scope) {
            scope->spawn(GetParam().begin(w, tracked(w.kept, 1)));
        } else {
            w.loop->spawn(GetParam().begin(w, tracked(w.kept, 1)));
        }
        EXPECT_EQ(w.kept.alive, 1) << "it began outside its loop";
        advance_to(when, w, GetParam());
        EXPECT_GE(w.kept.alive, 1);
        if (how == ending::places_then_loop) {
            w.met.reset();
        }
        scope.reset();
        if (how == ending::scope) {
            check_that_nobody_waits(w);
            w.elsewhere.run_until_idle();
            w.loop->run_until_idle(); // the resumption, had it been queued
        }
        w.loop.reset();
        w.elsewhere.run_until_idle();
        w.many.clear();
        EXPECT_EQ(w.kept.alive, 0);
        w.request_stop();
        if (w.met) {
            check_that_nobody_waits(w);
        }
    }

private:
    static void check_that_nobody_waits(world& w) {
        EXPECT_EQ(w.met->ex.try_exchange(w.item()).error(), exchange_errc::no_partner);
        EXPECT_FALSE(w.met->channel.try_send(w.item()));
        EXPECT_FALSE(w.met->channel.try_receive());
        EXPECT_FALSE(w.met->unused.try_send(w.item()));
        EXPECT_FALSE(w.met->unused.try_receive());
        EXPECT_FALSE(w.met->full.try_send(w.item()));
        EXPECT_FALSE(w.met->full.try_receive());
        EXPECT_TRUE(w.met->empty.try_send(w.item()));
        EXPECT_TRUE(w.met->empty.try_receive()); // no receiver took it
    }
};

/// Names its test after it.
void PrintTo(const wait_kind& kind, std::ostream* to) { // NOLINT(readability-identifier-naming)
    std::string name = kind.name;
    std::erase(name, ',');
    std::ranges::replace(name, ' ', '_');
    *to << name;
}
INSTANTIATE_TEST_SUITE_P(, DestroyedWhileWaiting, ::testing::ValuesIn(wait_kinds));

TEST_P(DestroyedWhileWaiting, LeavesNothing) {
    for (const auto how : {ending::loop, ending::places_then_loop, ending::scope}) {
        SCOPED_TRACE(endings[static_cast<int>(how)]);
        for (const auto when :
             {moment::unstarted, moment::first_turn, moment::waiting, moment::due, moment::woken}) {
            SCOPED_TRACE(moments[static_cast<int>(when)]);
            end(how, when);
        }
    }
}

TEST(DestroyedWhileWaitingInTheArena, IsWhatTheTableMeans) {
    world w;
    w.loop->spawn(in_the_arena.begin(w, w.item()));
    advance_to(moment::first_turn, w, in_the_arena);
    EXPECT_TRUE(waits_in_arena(w.met->ex));
}

TEST(DestroyedWhileWaitingForAnotherThread, LeavesNothing) {
    for (const wait_kind& kind : wait_kinds) {
        SCOPED_TRACE(kind.name);
        for (int round = 0; kind.wakes_from_anywhere && round != 100; ++round) {
            world w;
            w.loop->spawn(kind.begin(w, w.item()));
            advance_to(round % 2 == 0 ? moment::waiting : moment::first_turn, w, kind);
            std::thread waker([&] { (w.*kind.wake)(); });
            w.loop.reset();
            waker.join();
            w.many.clear();
            ASSERT_EQ(w.kept.alive, 0);
        }
    }
}

} // namespace
} // namespace tryst::test
