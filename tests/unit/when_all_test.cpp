// SPDX-License-Identifier: MIT
#include <tryst/when_all.hpp>

#include <tryst/exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/sleep.hpp>
#include <tryst/sync_wait.hpp>

#include "support/loop_thread.hpp"
#include "support/tracked.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <coroutine>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace {

using tryst::exchanger;
using tryst::run_loop;
using tryst::sleep_for;
using tryst::sync_wait;
using tryst::task;
using tryst::when_all;
using tryst::test::census;
using tryst::test::loop_thread;
using tryst::test::tracked;
using namespace std::chrono_literals;

template <class T>
task<T> give(T value) {
    co_return value;
}
task<> append(std::vector<int>& log, int number) {
    log.push_back(number);
    co_return;
}
task<> fail(std::string why) {
    throw std::runtime_error(why);
    co_return;
}
task<int> fail_with_value(std::string why) {
    throw std::runtime_error(why);
    co_return 0;
}
task<int> swap(exchanger<int>& ex, int item) {
    co_return *co_await ex.exchange(item);
}
task<int> hop(run_loop& there, int value) {
    co_await there.schedule();
    co_return value;
}

template <class Action>
std::string message_of(Action action) {
    try {
        action();
    } catch (const std::runtime_error& thrown) {
        return thrown.what();
    }
    return "nothing was thrown";
}

} // namespace

TEST(WhenAll, ReturnsWhatEachTaskReturnsInTheOrderOfTheArguments) {
    const auto [number, text, nothing] =
        sync_wait(when_all(give(1), give<std::string>("two"), []() -> task<> { co_return; }()));
    EXPECT_EQ(number, 1);
    EXPECT_EQ(text, "two");
    EXPECT_EQ(nothing, std::monostate());
}

TEST(WhenAll, ReturnsAVectorOfWhatTheTasksOfAVectorReturn) {
    std::vector<task<int>> work;
    std::vector<int> expected;
    for (int i = 0; i != 100; ++i) {
        work.push_back(give(i));
        expected.push_back(i);
    }
    EXPECT_EQ(sync_wait(when_all(std::move(work))), expected);
}

TEST(WhenAll, JoinsAVectorOfTasksThatReturnNothing) {
    std::vector<task<>> work;
    std::vector<int> log;
    for (int i = 0; i != 3; ++i) {
        work.push_back(append(log, i));
    }
    sync_wait(when_all(std::move(work)));
    EXPECT_EQ(log, (std::vector{0, 1, 2}));
}

TEST(WhenAll, OfNoTasksEndsAtOnce) {
    EXPECT_EQ(sync_wait(when_all()), std::tuple<>());
    EXPECT_TRUE(sync_wait(when_all(std::vector<task<int>>())).empty());
    sync_wait(when_all(std::vector<task<>>()));
}

TEST(WhenAll, OfOneTaskReturnsATupleOfOne) {
    EXPECT_EQ(std::get<0>(sync_wait(when_all(give(7)))), 7);
}

TEST(WhenAll, PassesMoveOnlyResultsOnWithoutLosingAny) {
    census kept;
    {
        const auto [a, b] = sync_wait(when_all(give(tracked(kept, 1)), give(tracked(kept, 2))));
        EXPECT_EQ(a.id(), 1);
        EXPECT_EQ(b.id(), 2);
        std::vector<task<tracked>> work;
        work.push_back(give(tracked(kept, 3)));
        work.push_back(give(tracked(kept, 4)));
        const std::vector<tracked> rest = sync_wait(when_all(std::move(work)));
        EXPECT_EQ(rest[0].id(), 3);
        EXPECT_EQ(rest[1].id(), 4);
        EXPECT_EQ(kept.alive, 4);
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(WhenAll, StartsNothingBeforeItIsAwaited) {
    std::vector<int> log;
    {
        const auto unstarted = when_all(append(log, 1), append(log, 2));
    }
    EXPECT_TRUE(log.empty());
}

TEST(WhenAll, StartsItsTasksInOrderEachUpToItsFirstSuspension) {
    run_loop loop;
    std::vector<int> log;
    const auto in_two_steps = [](run_loop& loop, std::vector<int>& log, int number) -> task<> {
        log.push_back(number);
        co_await loop.schedule();
        log.push_back(10 + number);
    };
    loop.spawn([](auto in_two_steps, run_loop& loop, std::vector<int>& log) -> task<> {
        co_await when_all(in_two_steps(loop, log, 1), in_two_steps(loop, log, 2),
                          in_two_steps(loop, log, 3));
        log.push_back(99);
    }(in_two_steps, loop, log));
    loop.run_until_idle();
    EXPECT_EQ(log, (std::vector{1, 2, 3, 11, 12, 13, 99}));
}

TEST(WhenAll, RunsItsTasksConcurrentlySoThatTheyMayBeEachOthersPartners) {
    exchanger<int> ex;
    const auto [a, b] = sync_wait(when_all(swap(ex, 1), swap(ex, 2)));
    EXPECT_EQ(a, 2);
    EXPECT_EQ(b, 1);
}

TEST(WhenAll, PairsAThousandTasks) {
    exchanger<int> ex;
    std::vector<task<int>> work;
    for (int i = 0; i != 1'000; ++i) {
        work.push_back(swap(ex, i));
    }
    const std::vector<int> got = sync_wait(when_all(std::move(work)));
    for (int i = 0; i != 1'000; ++i) {
        const int partner = got[static_cast<std::size_t>(i)];
        EXPECT_NE(partner, i);
        EXPECT_EQ(got[static_cast<std::size_t>(partner)], i);
    }
}

TEST(WhenAll, ThrowsTheFirstExceptionInTheOrderOfTheArguments) {
    run_loop loop;
    const auto fail_later = [](run_loop& loop, std::string why) -> task<> {
        co_await loop.schedule();
        throw std::runtime_error(why);
    };
    std::string message;
    loop.spawn([](auto fail_later, run_loop& loop, std::string& message) -> task<> {
        try {
            // The second fails before the first does.
            co_await when_all(fail_later(loop, "first"), fail("second"), fail_with_value("third"));
        } catch (const std::runtime_error& thrown) {
            message = thrown.what();
        }
    }(fail_later, loop, message));
    loop.run_until_idle();
    EXPECT_EQ(message, "first");
}

TEST(WhenAll, ThrowsTheFirstExceptionOfAVectorInItsOrder) {
    std::vector<task<int>> work;
    work.push_back(give(1));
    work.push_back(fail_with_value("first"));
    work.push_back(fail_with_value("second"));
    EXPECT_EQ(message_of([&] { sync_wait(when_all(std::move(work))); }), "first");
    std::vector<task<>> without;
    without.push_back(fail("first"));
    without.push_back(fail("second"));
    EXPECT_EQ(message_of([&] { sync_wait(when_all(std::move(without))); }), "first");
}

TEST(WhenAll, LetsTheOthersEndThoughOneFailed) {
    run_loop loop;
    std::vector<int> log;
    loop.spawn([](run_loop& loop, std::vector<int>& log) -> task<> {
        const auto slow = [](run_loop& loop, std::vector<int>& log) -> task<> {
            for (int i = 0; i != 5; ++i) {
                co_await loop.schedule();
            }
            log.push_back(1);
        };
        try {
            co_await when_all(fail("early"), slow(loop, log));
        } catch (const std::runtime_error&) {
            log.push_back(2);
        }
    }(loop, log));
    loop.run_until_idle();
    EXPECT_EQ(log, (std::vector{1, 2}));
}

TEST(WhenAll, LosesNoResultOfTheOthersIfOneFailed) {
    census kept;
    const std::string message = message_of([&kept] {
        sync_wait(when_all(give(tracked(kept, 1)), fail("in the middle"), give(tracked(kept, 2))));
    });
    EXPECT_EQ(message, "in the middle");
    EXPECT_EQ(kept.alive, 0);
}

TEST(WhenAll, ResumesOnTheExecutorItWasAwaitedOnThoughItsTasksEndElsewhere) {
    constexpr int rounds = 200;
    loop_thread other(tryst::run_loop_options{.max_spins = 0});
    run_loop home;
    int at_home = 0;
    home.spawn([](run_loop& home, run_loop& other, int& at_home) -> task<> {
        for (int i = 0; i != rounds; ++i) {
            const auto [a, b, c] = co_await when_all(hop(other, 1), hop(home, 2), hop(other, 3));
            EXPECT_EQ(a + b + c, 6);
            at_home += home.running_here() ? 1 : 0;
            std::vector<task<int>> work;
            work.push_back(hop(other, 4));
            work.push_back(hop(home, 5));
            const std::vector<int> got = co_await when_all(std::move(work));
            EXPECT_EQ(got, (std::vector{4, 5}));
            at_home += home.running_here() ? 1 : 0;
        }
        home.stop();
    }(home, *other, at_home));
    home.run();
    other.join();
    EXPECT_EQ(at_home, 2 * rounds);
}

TEST(WhenAll, GoesOnInTheSameTurnIfItsLastTaskEndsAtHome) {
    run_loop loop;
    int done = 0;
    loop.spawn([](int& done) -> task<> {
        co_await when_all(give(1), give(2));
        ++done;
    }(done));
    EXPECT_EQ(loop.run_until_idle(), 1U);
    EXPECT_EQ(done, 1);
}

TEST(WhenAll, MayBeNested) {
    exchanger<int> ex;
    const auto [left, right] =
        sync_wait(when_all(when_all(swap(ex, 1), swap(ex, 2)), when_all(swap(ex, 3), swap(ex, 4))));
    const auto [a, b] = left;
    const auto [c, d] = right;
    EXPECT_EQ(a + b + c + d, 1 + 2 + 3 + 4);
}

TEST(WhenAll, JoinsAwaitablesOfAllKinds) {
    struct ready {
        bool await_ready() const noexcept { return true; }
        void await_suspend(std::coroutine_handle<>) const noexcept {}
        const std::string& await_resume() const noexcept { return text; }
        std::string text;
    };
    exchanger<int> ex;
    run_loop loop;
    const auto body = [](exchanger<int>& ex) -> task<> {
        auto one = ex.exchange(1); // an operation cannot be moved: name it
        auto two = ex.exchange(2);
        ready named{"named"};
        auto got = co_await when_all(one, two, give(3), sleep_for(0s), named);
        EXPECT_EQ(*std::get<0>(got), 2);
        EXPECT_EQ(*std::get<1>(got), 1);
        EXPECT_EQ(std::get<2>(got), 3);
        EXPECT_TRUE(std::get<3>(got));
        EXPECT_EQ(std::get<4>(got), "named");
    };
    loop.run(body(ex));
    auto handle = loop.spawn_future(give(4));
    EXPECT_EQ(std::get<0>(loop.run(when_all(handle, sleep_for(1us)))), 4);
    EXPECT_EQ(std::get<0>(sync_wait(when_all(ready{"moved"}))), "moved");
}

TEST(WhenAll, FreesItsTasksIfItIsDestroyedWhileTheyWait) {
    census kept;
    exchanger<tracked> ex;
    const auto wait = [](exchanger<tracked>& ex, tracked item) -> task<> {
        auto got = co_await ex.exchange(std::move(item));
        ADD_FAILURE() << "resumed: " << got.error().message();
    };
    {
        run_loop loop;
        loop.spawn([](auto wait, run_loop& loop, exchanger<tracked>& ex, census& kept) -> task<> {
            co_await when_all(wait(ex, tracked(kept, 1)), give(tracked(kept, 2)),
                              [](run_loop& loop, tracked) -> task<> {
                                  while (true) {
                                      co_await loop.schedule();
                                  }
                              }(loop, tracked(kept, 3)));
        }(wait, loop, ex, kept));
        loop.spawn([](run_loop& loop) -> task<> {
            loop.stop();
            co_return;
        }(loop));
        loop.run();
        EXPECT_EQ(kept.alive, 3);
    }
    EXPECT_EQ(kept.alive, 0);
    EXPECT_EQ(ex.try_exchange(tracked(kept, 4)).error(), tryst::exchange_errc::no_partner);
}
