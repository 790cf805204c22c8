// SPDX-License-Identifier: MIT
// Futures: what is promised of their items, their promises and their waits.
#include <tryst/future.hpp>

#include <tryst/channel.hpp>
#include <tryst/inplace_stop_token.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/select.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>

#include "support/bare_coroutine.hpp"
#include "support/tracked.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

static_assert(sizeof(promise<int>) == sizeof(void*));
static_assert(sizeof(future<int>) <= 5 * sizeof(void*));
static_assert(std::is_nothrow_move_constructible_v<promise<int>> &&
              std::is_nothrow_move_assignable_v<promise<int>> &&
              !std::is_copy_constructible_v<promise<int>>);
static_assert(!std::is_move_constructible_v<future<int>>);

using got = std::optional<exchange_result<int, void>>;

/// Waits without an executor. Like all below, it leaves the result for the test to look at.
template <class... Limit>
bare_coroutine wait_for(future<int>& of, got& result, Limit... limit) {
    auto now = co_await of.get(limit...);
    result.emplace(std::move(now));
}

template <class... Limit>
task<> wait_on_loop(future<int>& of, got& result, Limit... limit) {
    auto now = co_await of.get(limit...);
    result.emplace(std::move(now));
}

void expect_item(const got& result, int item) {
    ASSERT_TRUE(result && *result);
    EXPECT_EQ(**result, item);
}
template <class Result>
void expect_error(const Result& result, exchange_errc error) {
    ASSERT_TRUE(!result);
    EXPECT_EQ(result.error(), error);
}

TEST(Future, IsSetBeforeGet) {
    future<int> reply;
    promise<int> p = reply.get_promise();
    expect_error(reply.try_get(), exchange_errc::no_partner);
    EXPECT_TRUE(p);
    EXPECT_TRUE(p.set(1));
    EXPECT_FALSE(p);
    got result;
    EXPECT_TRUE(wait_for(reply, result).done());
    expect_item(result, 1);
    expect_error(sync_wait(reply.get()), exchange_errc::closed); // it was taken
    expect_error(reply.try_get(), exchange_errc::closed);
}

TEST(Future, IsSetDuringGet) {
    future<int> reply;
    promise<int> p = reply.get_promise();
    got result;
    const auto waits = wait_for(reply, result);
    EXPECT_FALSE(waits.done());
    EXPECT_TRUE(p.set(1));
    EXPECT_TRUE(waits.done());
    expect_item(result, 1);
}

TEST(Future, WaitsForItsPromise) { // it may be made during the wait
    future<int> reply;
    got result;
    const auto waits = wait_for(reply, result);
    EXPECT_TRUE(reply.get_promise().set(1));
    expect_item(result, 1);
}

TEST(Future, TryGetTakesTheItem) {
    future<int> reply;
    expect_error(reply.try_get(), exchange_errc::no_partner);
    EXPECT_TRUE(reply.get_promise().set(1));
    EXPECT_EQ(reply.try_get().value(), 1);
}

TEST(Future, EndsWithItsPromise) {
    for (const bool waits_first : {false, true}) {
        future<int> reply;
        std::optional<promise<int>> p(reply.get_promise());
        got result;
        std::optional<bare_coroutine> waits;
        if (waits_first) {
            waits.emplace(wait_for(reply, result));
        }
        p.reset();
        if (!waits_first) {
            waits.emplace(wait_for(reply, result));
        }
        ASSERT_TRUE(waits->done() && result);
        expect_error(*result, exchange_errc::closed);
    }
}

TEST(Future, EndsAWaitWithItself) {
    std::optional<future<int>> reply(std::in_place);
    promise<int> p = reply->get_promise();
    got result;
    const auto waits = wait_for(*reply, result);
    reply.reset();
    ASSERT_TRUE(waits.done() && result);
    expect_error(*result, exchange_errc::closed);
    EXPECT_FALSE(p);
}

TEST(Promise, HandsItsItemBack) {
    using item = std::unique_ptr<int>;
    std::optional<future<item>> reply(std::in_place);
    promise<item> p = reply->get_promise();
    promise<item> other = std::move(p);
    const auto fails = [](promise<item>& with) {
        auto result = with.set(std::make_unique<int>(7));
        return !result && result.error() == exchange_errc::closed && *result.returned() == 7;
    };
    EXPECT_TRUE(fails(p)); // moved from
    EXPECT_TRUE(other.set(std::make_unique<int>(1)));
    EXPECT_TRUE(fails(other)); // set before
    EXPECT_EQ(*sync_wait(reply->get()).value(), 1);

    reply.emplace();
    p = reply->get_promise();
    reply.reset();
    EXPECT_FALSE(p);
    EXPECT_TRUE(fails(p)); // the future is gone
    promise<item> none;
    EXPECT_TRUE(fails(none));
}

TEST(Promise, CanBeMoved) {
    future<int> reply;
    promise<int> first = reply.get_promise();
    promise<int> second(std::move(first));
    promise<int> third;
    third = std::move(second);
    auto& same = third;
    third = std::move(same);
    EXPECT_TRUE(!first && !second && third); // NOLINT(bugprone-use-after-move)
    std::vector<promise<int>> many;
    many.push_back(std::move(third));
    many.resize(100); // moves it again
    EXPECT_TRUE(many.front().set(1));
    EXPECT_EQ(reply.try_get().value(), 1);
}

TEST(Promise, AssignmentDropsTheOldOne) {
    future<int> one;
    future<int> two;
    promise<int> p = one.get_promise();
    p = two.get_promise();
    expect_error(one.try_get(), exchange_errc::closed);
    EXPECT_TRUE(p.set(2));
    EXPECT_EQ(two.try_get().value(), 2);
}

TEST(Promise, MayBeDestroyedByThePartyThatItResumes) {
    future<int> reply;
    auto p = std::make_unique<promise<int>>(reply.get_promise());
    const auto wait = [](future<int>& of, std::unique_ptr<promise<int>>& end) -> bare_coroutine {
        const auto result = co_await of.get();
        EXPECT_EQ(result.value(), 1);
        end.reset();
    };
    const auto waits = wait(reply, p);
    EXPECT_TRUE(p->set(1));
    EXPECT_TRUE(waits.done() && p == nullptr);
}

TEST(Future, MayBeDestroyedByThePartyThatWaited) {
    for (const bool set : {false, true}) {
        auto reply = std::make_unique<future<int>>();
        std::optional<promise<int>> p(reply->get_promise());
        const auto wait = [](std::unique_ptr<future<int>>& of) -> bare_coroutine {
            const auto result = co_await of->get();
            EXPECT_TRUE(result || result.error() == exchange_errc::closed);
            of.reset();
        };
        const auto waits = wait(reply);
        if (set) {
            EXPECT_TRUE(p->set(1));
        }
        p.reset();
        EXPECT_TRUE(waits.done() && reply == nullptr);
    }
}

TEST(Future, CanBeAwaitedAgain) {
    future<int> reply;
    promise<int> p = reply.get_promise();
    run_loop loop;
    const auto body = [](future<int>& of, promise<int>& by) -> task<> {
        const auto late = co_await of.get(1ms);
        expect_error(late, exchange_errc::timed_out);
        inplace_stop_source stop;
        stop.request_stop();
        const auto stopped = co_await of.get(stop.get_token());
        expect_error(stopped, exchange_errc::cancelled);
        EXPECT_TRUE(by.set(1));
        const auto result = co_await of.get(1h);
        EXPECT_EQ(result.value(), 1);
    };
    loop.run(body(reply, p));
    expect_error(sync_wait(reply.get(1ms)), exchange_errc::closed);
}

TEST(Future, ALateSetFindsAnAbandonedWait) {
    for (const bool on_loop : {false, true}) {
        future<int> reply;
        promise<int> p = reply.get_promise();
        got result;
        {
            run_loop loop;
            std::optional<bare_coroutine> waits;
            if (on_loop) {
                loop.spawn(wait_on_loop(reply, result, 1h));
                loop.run_until_idle();
            } else {
                waits.emplace(wait_for(reply, result));
            }
        }
        EXPECT_FALSE(result);
        EXPECT_TRUE(p.set(1));
        EXPECT_EQ(reply.try_get().value(), 1);
    }
}

TEST(Future, AStopEndsTheWait) {
    future<int> reply;
    promise<int> p = reply.get_promise();
    inplace_stop_source stop;
    got result;
    const auto waits = wait_for(reply, result, stop.get_token());
    EXPECT_FALSE(waits.done());
    stop.request_stop();
    ASSERT_TRUE(waits.done() && result);
    expect_error(*result, exchange_errc::cancelled);
    EXPECT_TRUE(p.set(1));
    EXPECT_EQ(reply.try_get().value(), 1);
}

TEST(Future, DestroysWhatNobodyTook) {
    census kept;
    {
        std::optional<future<tracked>> reply(std::in_place);
        EXPECT_TRUE(reply->get_promise().set(tracked(kept, 1)));
        EXPECT_EQ(kept.alive.load(), 1);
        reply.reset();
        EXPECT_EQ(kept.alive.load(), 0);
    }
    { // the item is in a frame that is destroyed before it resumes
        run_loop loop;
        future<tracked> reply;
        promise<tracked> p = reply.get_promise();
        const auto body = [](future<tracked>& of) -> task<> {
            const auto result = co_await of.get();
            ADD_FAILURE() << "resumed";
        };
        loop.spawn(body(reply));
        loop.run_until_idle();
        EXPECT_TRUE(p.set(tracked(kept, 2)));
        EXPECT_EQ(kept.alive.load(), 1);
    }
    EXPECT_EQ(kept.alive.load(), 0);
}

struct selected {
    std::size_t index = select_npos;
    int item = 0;
};
bare_coroutine select_two(future<int>& of, channel<int>& from, selected& result) {
    auto now = co_await select(of.get(), from.receive());
    result.index = now.index();
    result.item = now.index() == 0 ? now.template get<0>().value() : now.template get<1>().value();
}

TEST(Future, CanBeSelected) {
    for (const bool set_first : {false, true}) {
        for (const bool wins : {false, true}) {
            future<int> reply;
            promise<int> p = reply.get_promise();
            channel<int> other(1);
            selected result;
            const auto act = [&] {
                EXPECT_TRUE(wins ? p.set(1).has_value() : other.try_send(2).has_value());
            };
            if (set_first) {
                act();
            }
            const auto selects = select_two(reply, other, result);
            if (!set_first) {
                act();
            }
            ASSERT_TRUE(selects.done());
            EXPECT_EQ(result.index, wins ? 0U : 1U);
            EXPECT_EQ(result.item, wins ? 1 : 2);
            if (wins) {
                EXPECT_TRUE(other.try_send(3)); // the other case has left
            } else {
                EXPECT_TRUE(p.set(3));
                EXPECT_EQ(reply.try_get().value(), 3);
            }
        }
    }
}

TEST(Future, ASelectionCanTimeOut) {
    future<int> reply;
    channel<int> other(1);
    promise<int> p = reply.get_promise();
    EXPECT_EQ(sync_wait(select(reply.get(), other.receive(), 1ms)).index(), select_npos);
    EXPECT_EQ(try_select(reply.get(), other.receive()).index(), select_npos);
    EXPECT_TRUE(p.set(1));
    EXPECT_EQ(sync_wait(select(reply.get(), other.receive(), 1h)).index(), 0U);
}

task<> select_until(future<int>& of, channel<int>& other, inplace_stop_token stop,
                    std::size_t& index) {
    auto now = co_await select(of.get(), other.receive(), stop);
    index = now.index();
}

/// The stop has ended the selection, but its party has not left the future yet (I53).
TEST(Future, MayEndBeforeASelectionThatWasStopped) {
    run_loop loop;
    channel<int> other(1);
    auto reply = std::make_unique<future<int>>();
    inplace_stop_source stop;
    std::size_t index = 0;
    loop.spawn(select_until(*reply, other, stop.get_token(), index));
    loop.run_until_idle();
    stop.request_stop();
    reply.reset();
    loop.run_until_idle();
    EXPECT_EQ(index, select_npos);
}

TEST(Future, EndsASelectionWithItsPromise) {
    future<int> reply;
    channel<int> other(1);
    std::optional<promise<int>> p(reply.get_promise());
    bool closed = false;
    const auto body = [](future<int>& of, channel<int>& from, bool& seen) -> bare_coroutine {
        auto now = co_await select(of.get(), from.receive());
        seen = now.index() == 0 && now.template get<0>().error() == exchange_errc::closed;
    };
    const auto selects = body(reply, other, closed);
    p.reset();
    EXPECT_TRUE(selects.done() && closed);
}

TEST(FutureMisuse, EndsTheProgram) {
    future<int> reply;
    promise<int> p = reply.get_promise();
    EXPECT_DEATH(static_cast<void>(reply.get_promise()), "a future has one promise");
    got result;
    const auto waits = wait_for(reply, result);
    EXPECT_DEATH(static_cast<void>(wait_for(reply, result)), "two parties must not wait");
    EXPECT_TRUE(p.set(1));
}

} // namespace
} // namespace tryst::test
