// SPDX-License-Identifier: MIT
// Futures: what is promised of their items, their promises and their waits.
#include <tryst/future.hpp>

#include <tryst/channel.hpp>
#include <tryst/inplace_stop_token.hpp>
#include <tryst/select.hpp>
#include <tryst/sync_wait.hpp>

#include "support/bare_coroutine.hpp"
#include "support/started.hpp"
#include "support/tracked.hpp"

#include <gtest/gtest.h>

#include <chrono>
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

TEST(Future, IsSetBeforeGet) {
    future<int> reply;
    EXPECT_EQ(reply.try_get(), exchange_errc::no_partner);
    promise<int> p = reply.get_promise();
    EXPECT_EQ(reply.try_get(), exchange_errc::no_partner);
    EXPECT_TRUE(p);
    EXPECT_TRUE(p.set(1));
    EXPECT_FALSE(p);
    EXPECT_EQ(*start_bare([&] { return reply.get(); }), 1);
    EXPECT_EQ(sync_wait(reply.get()), exchange_errc::closed); // it was taken
    EXPECT_EQ(reply.try_get(), exchange_errc::closed);
}

TEST(Future, IsSetDuringGet) {
    for (const bool promised : {true, false}) { // else the promise is made during the wait
        future<int> reply;
        promise<int> p = promised ? reply.get_promise() : promise<int>();
        const auto waits = start_bare([&] { return reply.get(); });
        EXPECT_TRUE(waits.waits());
        if (!promised) {
            p = reply.get_promise();
        }
        EXPECT_TRUE(p.set(1));
        EXPECT_EQ(*waits, 1);
    }
}

TEST(Future, EndsWithItsPromise) {
    future<int> reply;
    std::optional<promise<int>> p(reply.get_promise());
    const auto waits = start_bare([&] { return reply.get(); });
    p.reset();
    EXPECT_EQ(waits.error(), exchange_errc::closed);
    EXPECT_EQ(*start_bare([&] { return reply.get(); }), exchange_errc::closed); // and later ones

    future<int> selected;
    channel<int> other(1);
    p = selected.get_promise();
    const auto selects = start_bare([&] { return select(selected.get(), other.receive()); });
    p.reset();
    ASSERT_FALSE(selects.waits());
    EXPECT_EQ(selects->get<0>(), exchange_errc::closed);
}

TEST(Future, EndsAWaitWithItself) {
    std::optional<future<int>> reply(std::in_place);
    const promise<int> p = reply->get_promise();
    const auto waits = start_bare([&] { return reply->get(); });
    reply.reset();
    EXPECT_EQ(waits.error(), exchange_errc::closed);
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
    EXPECT_EQ(reply.try_get(), 1);
}

TEST(Promise, AssignmentDropsTheOldOne) {
    future<int> one;
    future<int> two;
    promise<int> p = one.get_promise();
    p = two.get_promise();
    EXPECT_EQ(one.try_get(), exchange_errc::closed);
    EXPECT_TRUE(p.set(2));
    EXPECT_EQ(two.try_get(), 2);
}

/// The promise, the future, or both.
TEST(Future, MayEndInThePartyThatItResumes) {
    for (const auto& [ends_promise, ends_future] :
         {std::pair(true, false), {false, true}, {true, true}}) {
        for (const bool set : {false, true}) {
            std::optional<future<int>> reply(std::in_place);
            auto p = std::make_unique<promise<int>>(reply->get_promise());
            const auto wait = [&, ends_promise, ends_future]() -> bare_coroutine {
                const auto result = co_await reply->get();
                EXPECT_EQ(result.has_value(), set);
                if (ends_promise) {
                    p.reset();
                }
                if (ends_future) {
                    reply.reset();
                }
            };
            const auto waits = wait();
            if (set) {
                EXPECT_TRUE(p->set(1));
            } else {
                *p = {};
            }
            EXPECT_TRUE(waits.done());
        }
    }
}

TEST(Future, CanBeAwaitedAgain) {
    future<int> reply;
    promise<int> p = reply.get_promise();
    parties start;
    const auto late = start([&] { return reply.get(1ms); });
    start.loop.advance(1ms);
    EXPECT_EQ(late.error(), exchange_errc::timed_out);
    inplace_stop_source stop;
    stop.request_stop();
    EXPECT_EQ(*start([&] { return reply.get(stop.get_token()); }), exchange_errc::cancelled);
    EXPECT_TRUE(p.set(1));
    EXPECT_EQ(*start([&] { return reply.get(1h); }), 1);
    EXPECT_EQ(sync_wait(reply.get(1ms)), exchange_errc::closed);
}

TEST(Future, ALateSetFindsAWaitThatHasEnded) {
    enum class end { loop, frame, stop };
    for (const auto how : {end::loop, end::frame, end::stop}) {
        SCOPED_TRACE(static_cast<int>(how));
        future<int> reply;
        promise<int> p = reply.get_promise();
        inplace_stop_source stop;
        if (how == end::loop) {
            EXPECT_TRUE(parties()([&] { return reply.get(1h); }).waits());
        } else {
            const auto waits = start_bare([&] { return reply.get(stop.get_token()); });
            EXPECT_TRUE(waits.waits());
            if (how == end::stop) {
                stop.request_stop();
                EXPECT_EQ(waits.error(), exchange_errc::cancelled);
            }
        }
        EXPECT_TRUE(p.set(1));
        EXPECT_EQ(reply.try_get(), 1);
    }
}

TEST(Future, DestroysWhatNobodyTook) {
    census kept;
    {
        std::optional<future<tracked>> reply(std::in_place);
        EXPECT_TRUE(reply->get_promise().set(tracked(kept, 1)));
        EXPECT_EQ(kept.alive, 1);
        reply.reset();
        EXPECT_EQ(kept.alive, 0);
    }
    { // the item is in a frame that is destroyed before it resumes
        future<tracked> reply;
        promise<tracked> p = reply.get_promise();
        parties start;
        const auto waits = start([&] { return reply.get(); });
        EXPECT_TRUE(p.set(tracked(kept, 2)));
        EXPECT_EQ(kept.alive, 1);
        EXPECT_TRUE(waits.waits());
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(Future, CanBeSelected) {
    for (const bool set_first : {false, true}) {
        for (const bool wins : {false, true}) {
            future<int> reply;
            promise<int> p = reply.get_promise();
            channel<int> other(1);
            const auto act = [&] {
                EXPECT_TRUE(wins ? p.set(1).has_value() : other.try_send(2).has_value());
            };
            if (set_first) {
                act();
            }
            const auto selects = start_bare([&] { return select(reply.get(), other.receive()); });
            if (!set_first) {
                act();
            }
            ASSERT_TRUE(selects.ok());
            if (wins) {
                EXPECT_EQ(selects->get<0>(), 1);
                EXPECT_TRUE(other.try_send(3)); // the other case has left
            } else {
                EXPECT_EQ(selects->get<1>(), 2);
                EXPECT_TRUE(p.set(3));
                EXPECT_EQ(reply.try_get(), 3);
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

/// The stop has ended the selection, but its party has not left the future yet (I53).
TEST(Future, MayEndBeforeASelectionThatWasStopped) {
    parties start;
    channel<int> other(1);
    std::optional<future<int>> reply(std::in_place);
    inplace_stop_source stop;
    const auto selects =
        start([&] { return select(reply->get(), other.receive(), stop.get_token()); });
    EXPECT_TRUE(selects.waits());
    stop.request_stop();
    reply.reset();
    start.run();
    ASSERT_FALSE(selects.waits());
    EXPECT_EQ(selects->index(), select_npos);
}

} // namespace
} // namespace tryst::test
