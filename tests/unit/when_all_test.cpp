// SPDX-License-Identifier: MIT
// Where its awaiter goes on: runs_test.cpp.
#include <tryst/when_all.hpp>

#include <tryst/sleep.hpp>
#include <tryst/sync_wait.hpp>

#include "support/works.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

template <class... Tasks>
auto vector_of(Tasks... tasks) {
    std::vector<std::common_type_t<Tasks...>> all;
    (all.push_back(std::move(tasks)), ...);
    return all;
}

TEST(WhenAll, ReturnsWhatEachTaskReturnsInTheOrderOfTheArguments) {
    std::vector<int> log;
    const auto [number, text, nothing] =
        sync_wait(when_all(give(1), give<std::string>("two"), append(log, 3)));
    EXPECT_EQ(number, 1);
    EXPECT_EQ(text, "two");
    EXPECT_EQ(nothing, std::monostate());
    EXPECT_EQ(sync_wait(when_all(vector_of(give(4), give(5)))), (std::vector{4, 5}));
    sync_wait(when_all(vector_of(append(log, 6), append(log, 7))));
    EXPECT_EQ(log, (std::vector{3, 6, 7}));
}

TEST(WhenAll, OfNoTasksEndsAtOnce) {
    EXPECT_EQ(sync_wait(when_all()), std::tuple<>());
    EXPECT_TRUE(sync_wait(when_all(std::vector<task<int>>())).empty());
    sync_wait(when_all(std::vector<task<>>()));
}

TEST(WhenAll, PassesMoveOnlyResultsOnWithoutLosingAny) {
    census kept;
    {
        const auto [a, b] = sync_wait(when_all(give(tracked(kept, 1)), give(tracked(kept, 2))));
        EXPECT_EQ(a.id(), 1);
        EXPECT_EQ(b.id(), 2);
        const std::vector<tracked> rest =
            sync_wait(when_all(vector_of(give(tracked(kept, 3)), give(tracked(kept, 4)))));
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
    const auto in_two_steps = [&](int number) -> task<> {
        log.push_back(number);
        co_await loop.schedule();
        log.push_back(10 + number);
    };
    const auto body = [&]() -> task<> {
        co_await when_all(in_two_steps(1), in_two_steps(2), in_two_steps(3));
        log.push_back(99);
    };
    loop.run(body());
    EXPECT_EQ(log, (std::vector{1, 2, 3, 11, 12, 13, 99}));
}

TEST(WhenAll, GoesOnInTheSameTurnIfItsLastTaskEndsAtHome) {
    run_loop loop;
    int done = 0;
    const auto body = [&]() -> task<> {
        co_await when_all(give(1), give(2));
        ++done;
    };
    loop.spawn(body());
    EXPECT_EQ(loop.run_until_idle(), 1U);
    EXPECT_EQ(done, 1);
}

TEST(WhenAll, MayBeNested) {
    exchanger<int> ex;
    const auto [left, right] =
        sync_wait(when_all(when_all(swap(ex, 1), swap(ex, 2)), when_all(swap(ex, 3), swap(ex, 4))));
    EXPECT_EQ(left, std::tuple(2, 1));
    EXPECT_EQ(right, std::tuple(4, 3));
}

TEST(WhenAll, ThrowsTheFirstExceptionInTheOrderOfTheArgumentsWhenAllHaveEnded) {
    run_loop loop;
    std::vector<int> log;
    const auto fail_late = [&]() -> task<> { // the second fails before the first does
        co_await turns(loop, 1);
        throw std::runtime_error("first");
    };
    const auto slow = [&]() -> task<> {
        co_await turns(loop, 5);
        log.push_back(1);
    };
    const auto body = [&]() -> task<> {
        co_await when_all(fail_late(), fail("second"), fail<int>("third"), slow());
    };
    EXPECT_EQ(message_of([&] { loop.run(body()); }), "first");
    EXPECT_EQ(log, std::vector{1}) << "it did not wait for the others";
    EXPECT_EQ(message_of([&] { loop.run(when_all(vector_of(slow(), fail_late(), fail("2")))); }),
              "first");
    EXPECT_EQ(log, (std::vector{1, 1}));
    EXPECT_EQ(
        message_of([&] { loop.run(when_all(vector_of(give(1), fail<int>("a"), fail<int>("b")))); }),
        "a");
}

TEST(WhenAll, LosesNoResultOfTheOthersIfOneFailed) {
    census kept;
    const std::string message = message_of([&kept] {
        sync_wait(when_all(give(tracked(kept, 1)), fail("in the middle"), give(tracked(kept, 2))));
    });
    EXPECT_EQ(message, "in the middle");
    EXPECT_EQ(kept.alive, 0);
}

TEST(WhenAll, JoinsOperationsTasksAndHandles) {
    exchanger<int> ex;
    run_loop loop;
    auto handle = loop.spawn_future(give(4));
    const auto body = [&]() -> task<> {
        auto one = ex.exchange(1); // an operation cannot be moved: name it
        auto two = ex.exchange(2);
        auto got = co_await when_all(one, two, give(3), sleep_for(1us), handle);
        EXPECT_EQ(*std::get<0>(got), 2);
        EXPECT_EQ(*std::get<1>(got), 1);
        EXPECT_EQ(std::get<2>(got), 3);
        EXPECT_TRUE(std::get<3>(got));
        EXPECT_EQ(std::get<4>(got), 4);
    };
    loop.run(body());
}

} // namespace
} // namespace tryst::test
