// SPDX-License-Identifier: MIT
// A set of cases that stays registered: the programs that its users write first, and its law.
#include <tryst/case_set.hpp>

#include "support/bare_coroutine.hpp"
#include "support/manual_clock.hpp"
#include "support/tracked.hpp"

#include <tryst/channel.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/inplace_stop_token.hpp>
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/select.hpp>
#include <tryst/statistics.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/synchronous_channel.hpp>
#include <tryst/task.hpp>
#include <tryst/when_all.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using numbers = synchronous_channel<int>;
using inbox = case_set<int, receive_case<numbers>>;
using outbox = case_set<int, send_case<numbers>>;

/// Awaits `next` on a loop whose clock stands still.
template <class Set, class... Limit>
auto begin(timed_loop& loop, Set& set, Limit... limit) {
    auto got = std::make_shared<std::optional<typename Set::result_type>>();
    loop->spawn([](auto to, Set& from, Limit... until) -> task<> {
        to->emplace(co_await from.next(until...));
    }(got, set, limit...));
    loop->run_until_idle();
    return got;
}

template <class Place>
Place make_place() {
    if constexpr (requires { typename Place::remaining; }) {
        return Place(1);
    } else {
        return Place();
    }
}

// ---- Servers.

TEST(CaseSet, ServesManyChannels) {
    run_loop loop;
    std::deque<numbers> channels(100);
    inbox set;
    for (int i = 0; i != 100; ++i) {
        set.add(channels[static_cast<std::size_t>(i)].receive(), i);
    }
    EXPECT_EQ(set.size(), 100U);
    int sum = 0;
    loop.run(when_all(
        [](auto& of, int& total) -> task<> {
            for (int i = 0; i != 1'000; ++i) {
                auto got = co_await of.next();
                if (!got) {
                    co_return;
                }
                total += *got.get() - got.token();
            }
        }(set, sum),
        [](auto& to) -> task<> {
            for (int i = 0; i != 1'000; ++i) {
                const auto which = static_cast<std::size_t>(i * 37 % 100);
                const auto sent = co_await to[which].send(static_cast<int>(which) + 1);
                EXPECT_TRUE(sent);
            }
        }(channels)));
    EXPECT_EQ(sum, 1'000);
}

template <class Place>
class CaseSetAt : public testing::Test {};
using places =
    testing::Types<synchronous_channel<int>, synchronous_channel<int, order::lifo>, channel<int>,
                   channel<int, single_threaded>,
                   channel<int, weighted<decltype([](int) { return std::size_t{1}; })>>,
                   synchronous_channel<int, order::fifo, counted>, channel<int, counted>>;
TYPED_TEST_SUITE(CaseSetAt, places);

TYPED_TEST(CaseSetAt, TakesPartOnlyWhileItsOwnerWaits) {
    timed_loop loop;
    TypeParam at = make_place<TypeParam>();
    case_set<int, receive_case<TypeParam>> set;
    set.add(at.receive(), 7);
    EXPECT_EQ(set.try_next().error(), exchange_errc::no_partner); // now it is in the list
    const bool has_buffer = requires { typename TypeParam::remaining; };
    EXPECT_EQ(at.try_send(1).has_value(), has_buffer);
    for (int i = 2; i != 6; ++i) {
        const auto got = begin(loop, set);
        if (i == 2 && has_buffer) {
            ASSERT_TRUE(*got);
            EXPECT_EQ(*(*got)->get(), 1);
            continue;
        }
        EXPECT_FALSE(*got);
        EXPECT_TRUE(at.try_send(i));
        loop->run_until_idle();
        ASSERT_TRUE(*got);
        ASSERT_TRUE(**got);
        EXPECT_EQ((*got)->token(), 7);
        EXPECT_EQ(*(*got)->get(), i);
    }
}

TYPED_TEST(CaseSetAt, MeetsWhoeverCameMeanwhile) {
    timed_loop loop;
    TypeParam at = make_place<TypeParam>();
    case_set<int, receive_case<TypeParam>> set;
    set.add(at.receive(), 7);
    EXPECT_FALSE(set.try_next());
    int sent = 0;
    for (int i = 0; i != 3; ++i) {
        loop->spawn([](auto& to, int& count) -> task<> {
            const auto done = co_await to.send(4);
            count += done ? 1 : 0;
        }(at, sent));
    }
    loop->run_until_idle();
    for (int i = 0; i != 3; ++i) {
        auto got = begin(loop, set);
        ASSERT_TRUE(*got);
        EXPECT_EQ(*(*got)->get(), 4);
    }
    loop->run_until_idle();
    EXPECT_EQ(sent, 3);
    EXPECT_FALSE(set.try_next());
}

TYPED_TEST(CaseSetAt, SendsWhatItWasGiven) {
    timed_loop loop;
    TypeParam at = make_place<TypeParam>();
    case_set<int, send_case<TypeParam>> set;
    const auto it = set.add(at.send(1), 7);
    for (int i = 1; i != 5; ++i) {
        const auto got = begin(loop, set);
        const auto taken = at.try_receive();
        loop->run_until_idle();
        ASSERT_TRUE(taken);
        EXPECT_EQ(*taken, i);
        ASSERT_TRUE(*got);
        EXPECT_TRUE((*got)->get());
        EXPECT_EQ((*got)->handle(), it);
        EXPECT_EQ(set.try_next().error(), exchange_errc::no_partner); // it is idle
        set.rearm(it, i + 1);
    }
    const auto left = set.remove(it);
    ASSERT_TRUE(left);
    EXPECT_EQ(left->error(), exchange_errc::not_selected);
    EXPECT_EQ(left->returned(), 5);
    EXPECT_TRUE(set.empty());
    EXPECT_FALSE(at.try_receive());
}

TYPED_TEST(CaseSetAt, IsToldOfACloseOnce) {
    timed_loop loop;
    for (const bool waits : {true, false}) {
        TypeParam at = make_place<TypeParam>();
        case_set<int, receive_case<TypeParam>> set;
        set.add(at.receive(), 7);
        EXPECT_FALSE(set.try_next());
        auto got = std::make_shared<std::optional<typename decltype(set)::result_type>>();
        if (waits) {
            got = begin(loop, set);
        }
        at.close();
        loop->run_until_idle();
        if (!waits) {
            got = begin(loop, set);
        }
        ASSERT_TRUE(*got);
        ASSERT_TRUE(**got);
        EXPECT_EQ((*got)->error(), exchange_errc::closed);
        EXPECT_EQ((*got)->token(), 7);
        EXPECT_TRUE(set.empty());
        EXPECT_EQ(set.try_next().error(), exchange_errc::no_partner);
    }
}

TYPED_TEST(CaseSetAt, OutlivesIt) {
    timed_loop loop;
    for (int when = 0; when != 4; ++when) { // new, listed, handed back, waiting
        std::optional<TypeParam> at;
        if constexpr (requires { typename TypeParam::remaining; }) {
            at.emplace(0);
        } else {
            at.emplace();
        }
        case_set<int, receive_case<TypeParam>> set;
        const auto it = set.add(at->receive(), 7);
        if (when != 0) {
            EXPECT_FALSE(set.try_next());
        }
        if (when == 2) {
            EXPECT_FALSE(at->try_send(1));
        }
        auto got = std::make_shared<std::optional<typename decltype(set)::result_type>>();
        if (when == 3) {
            got = begin(loop, set);
        }
        at.reset();
        loop->run_until_idle();
        if (when == 1) {
            const auto left = set.remove(it);
            ASSERT_TRUE(left);
            EXPECT_FALSE(*left);
            continue;
        }
        if (when != 3) {
            got = begin(loop, set);
        }
        ASSERT_TRUE(*got);
        EXPECT_EQ((*got)->error(), exchange_errc::closed);
        EXPECT_TRUE(set.empty());
    }
}

TYPED_TEST(CaseSetAt, IsMetBySelectionsAndOtherSets) {
    timed_loop loop;
    TypeParam at = make_place<TypeParam>();
    TypeParam other = make_place<TypeParam>();
    case_set<int, receive_case<TypeParam>> receiving;
    case_set<int, send_case<TypeParam>> sending;
    receiving.add(at.receive(), 1);
    receiving.add(other.receive(), 2);
    EXPECT_FALSE(receiving.try_next());
    const auto it = sending.add(other.send(3), 0);
    for (int i = 0; i != 3; ++i) {
        const auto got = begin(loop, receiving);
        const auto sent = begin(loop, sending);
        ASSERT_TRUE(*got);
        EXPECT_EQ((*got)->token(), 2);
        EXPECT_EQ(*(*got)->get(), 3);
        ASSERT_TRUE(*sent);
        EXPECT_TRUE((*sent)->get());
        sending.rearm(it, 3);
    }
    sending.remove(it);
    const auto got = begin(loop, receiving);
    loop->spawn([](auto& a, auto& b) -> task<> {
        const auto done = co_await select(a.send(4), b.send(4));
        EXPECT_TRUE(done);
    }(at, other));
    loop->run_until_idle();
    ASSERT_TRUE(*got);
    EXPECT_EQ(*(*got)->get(), 4);
}

// ---- Exchangers, and cases of several types.

TEST(CaseSet, ExchangesBuffers) {
    timed_loop loop;
    exchanger<std::string> ex;
    case_set<char, exchange_case<exchanger<std::string>>> set;
    const auto it = set.add(ex.exchange("mine"), 'a');
    for (int i = 0; i != 3; ++i) {
        auto got = begin(loop, set);
        loop->spawn([](auto& with) -> task<> {
            const auto theirs = co_await with.exchange("theirs");
            EXPECT_EQ(*theirs, "mine");
        }(ex));
        loop->run_until_idle();
        ASSERT_TRUE(*got);
        EXPECT_EQ(*(*got)->get(), "theirs");
        set.rearm(it, "mine");
    }
}

TEST(CaseSet, HasCasesOfSeveralTypes) {
    timed_loop loop;
    channel<std::string> requests(2);
    numbers ticks;
    using ex_type = red_blue_exchanger<std::unique_ptr<int>, int>;
    ex_type swaps;
    case_set<const char*, receive_case<channel<std::string>>, receive_case<numbers>,
             send_case<numbers>, decltype(swaps.red(nullptr))>
        set;
    set.add(requests.receive(), "request");
    set.add(ticks.receive(), "tick");
    const auto swap = set.add(swaps.red(std::make_unique<int>(5)), "swap");
    EXPECT_FALSE(set.try_next());

    auto got = begin(loop, set);
    EXPECT_TRUE(ticks.try_send(3));
    loop->run_until_idle();
    ASSERT_TRUE(*got);
    EXPECT_STREQ((*got)->token(), "tick");
    EXPECT_EQ((*got)->index(), 1U);
    EXPECT_EQ(*(*got)->get<1>(), 3);
    EXPECT_EQ((*got)->visit([](const auto& result) {
        if constexpr (requires { *result == 3; }) {
            return *result;
        }
        return 0;
    }),
              3);

    EXPECT_TRUE(requests.try_send("hello"));
    got = begin(loop, set);
    ASSERT_TRUE(*got);
    EXPECT_EQ((*got)->index(), 0U);
    EXPECT_EQ(*(*got)->get<0>(), "hello");

    got = begin(loop, set);
    const auto taken = swaps.try_blue(9);
    loop->run_until_idle();
    ASSERT_TRUE(taken);
    EXPECT_EQ(**taken, 5);
    ASSERT_TRUE(*got);
    EXPECT_EQ((*got)->handle<3>(), swap);
    EXPECT_EQ(*(*got)->get<3>(), 9);
    set.rearm(swap, std::make_unique<int>(6));
    const auto left = set.remove(swap);
    ASSERT_TRUE(left);
    EXPECT_EQ(*left->returned(), 6);
}

TEST(CaseSet, ServesReadyCasesInTurn) {
    timed_loop loop;
    std::deque<channel<int>> channels;
    case_set<int, receive_case<channel<int>>> set;
    for (int i = 0; i != 4; ++i) {
        channels.emplace_back(unlimited);
        set.add(channels.back().receive(), i);
        for (int n = 0; n != 100; ++n) {
            ASSERT_TRUE(channels.back().try_send(n));
        }
    }
    std::array<int, 4> served{};
    for (int i = 0; i != 200; ++i) {
        auto got = set.try_next();
        ASSERT_TRUE(got);
        ++served.at(static_cast<std::size_t>(got.token()));
    }
    for (const int count : served) {
        EXPECT_EQ(count, 50);
    }
}

// ---- Limits and ends.

TEST(CaseSet, EndsARoundAtItsLimits) {
    timed_loop loop;
    numbers ch;
    inbox set;
    set.add(ch.receive(), 1);
    auto got = begin(loop, set, 5ms);
    EXPECT_FALSE(*got);
    loop.advance(5ms);
    ASSERT_TRUE(*got);
    EXPECT_EQ((*got)->error(), exchange_errc::timed_out);

    inplace_stop_source source;
    got = begin(loop, set, 1h, source.get_token());
    EXPECT_FALSE(*got);
    source.request_stop();
    loop->run_until_idle();
    ASSERT_TRUE(*got);
    EXPECT_EQ((*got)->error(), exchange_errc::cancelled);
    EXPECT_FALSE(ch.try_send(1));

    got = begin(loop, set, source.get_token());
    EXPECT_EQ((*got)->error(), exchange_errc::cancelled);
    got = begin(loop, set, 0ms);
    EXPECT_EQ((*got)->error(), exchange_errc::timed_out);

    got = begin(loop, set, 5ms);
    EXPECT_TRUE(ch.try_send(2));
    loop->run_until_idle();
    ASSERT_TRUE(*got);
    EXPECT_EQ(*(*got)->get(), 2);
}

TEST(CaseSet, WithoutACaseThatCouldTakePlaceFailsAtOnce) {
    timed_loop loop;
    numbers ch;
    outbox set;
    EXPECT_EQ((*begin(loop, set))->error(), exchange_errc::no_partner);
    set.add(ch.send(1), 1);
    const auto got = begin(loop, set);
    EXPECT_TRUE(ch.try_receive());
    loop->run_until_idle();
    EXPECT_TRUE(*got);
    EXPECT_EQ((*begin(loop, set))->error(), exchange_errc::no_partner); // it is idle
}

TEST(CaseSet, IsAwaitedByThreads) {
    numbers ch;
    inbox set;
    set.add(ch.receive(), 1);
    std::thread sender([&] {
        for (int i = 0; i != 1'000; ++i) {
            EXPECT_TRUE(sync_wait(ch.send(i)));
        }
    });
    for (int i = 0; i != 1'000; ++i) {
        auto got = sync_wait(set.next(1h));
        ASSERT_TRUE(got);
        EXPECT_EQ(*got.get(), i);
    }
    sender.join();
    EXPECT_EQ(sync_wait(set.next(1ms)).error(), exchange_errc::timed_out);
}

TEST(CaseSet, LosesNothingWhenARoundIsDestroyed) {
    run_loop loop;
    census kept;
    synchronous_channel<tracked> ch;
    case_set<int, receive_case<synchronous_channel<tracked>>> set;
    set.add(ch.receive(), 1);
    const auto waiting = [&] {
        return [](auto& from) -> task<> {
            const auto got = co_await from.next();
            ADD_FAILURE();
        }(set);
    };
    {
        run_loop other;
        other.spawn(waiting());
        other.run_until_idle();
    } // destroyed while it waits
    EXPECT_FALSE(ch.try_send(tracked(kept, 1)));
    {
        run_loop other;
        other.spawn(waiting());
        other.run_until_idle();
        EXPECT_TRUE(ch.try_send(tracked(kept, 2)));
    } // destroyed after the case took place
    bool served = false;
    loop.run([](auto& from, bool& done) -> task<> {
        auto got = co_await from.next();
        EXPECT_EQ(got.get()->id(), 2);
        done = true;
    }(set, served));
    EXPECT_TRUE(served);
    EXPECT_EQ(kept.alive, 0);
}

TEST(CaseSet, GivesBackWhatARemovedCaseGot) {
    numbers ch;
    inbox set;
    const auto it = set.add(ch.receive(), 1);
    {
        run_loop other;
        other.spawn([](auto& from) -> task<> { static_cast<void>(co_await from.next()); }(set));
        other.run_until_idle();
        EXPECT_TRUE(ch.try_send(2));
    }
    const auto left = set.remove(it);
    ASSERT_TRUE(left);
    EXPECT_EQ(**left, 2);
    EXPECT_EQ(set.try_next().error(), exchange_errc::no_partner);
}

TEST(CaseSet, IsCountedLikeASelection) {
    using counted_channel = synchronous_channel<int, order::fifo, counted>;
    timed_loop loop;
    counted_channel ch;
    case_set<int, receive_case<counted_channel>> set;
    set.add(ch.receive(), 1);
    EXPECT_FALSE(set.try_next());
    EXPECT_EQ(ch.stats().waiting, 1U);
    EXPECT_FALSE(ch.try_send(1));
    EXPECT_EQ(ch.stats().waiting, 0U); // it was handed back
    EXPECT_EQ(ch.stats().not_selected, 1U);
    const auto got = begin(loop, set);
    EXPECT_TRUE(ch.try_send(2));
    loop->run_until_idle();
    const auto seen = ch.stats();
    EXPECT_EQ(seen.exchanges, 1U);
    EXPECT_EQ(seen.arrivals, 2 * seen.exchanges + seen.ended() + seen.waiting);
}

// ---- Others who run inline, or end what the set uses.

/// A party without an executor: it resumes in the call that completes it.
struct bare {
    struct promise_type {
        bare get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};

TYPED_TEST(CaseSetAt, MayBeDestroyedDuringItsEnd) {
    std::unique_ptr<TypeParam> at(new TypeParam(make_place<TypeParam>()));
    auto set = std::make_unique<case_set<int, receive_case<TypeParam>>>();
    bool ended = false;
    [](auto& from, auto& also, bool& done) -> bare {
        const auto got = co_await from.receive();
        EXPECT_EQ(got.error(), exchange_errc::closed);
        also.reset();
        done = true;
    }(*at, set, ended);
    set->add(at->receive(), 1);
    EXPECT_FALSE(set->try_next());
    at.reset();
    EXPECT_TRUE(ended);
}

TEST(CaseSet, MayEndBeforeTheCallThatReturnedItsResult) {
    numbers ch;
    auto set = std::make_unique<inbox>();
    set->add(ch.receive(), 1);
    bool ended = false;
    [](auto& of, bool& done) -> bare {
        const auto consume = [&](inbox::result_type got) {
            EXPECT_EQ(*got.get(), 2);
            of.reset(); // while the awaited operation is still there
            done = true;
        };
        consume(co_await of->next());
    }(set, ended);
    EXPECT_TRUE(ch.try_send(2));
    EXPECT_TRUE(ended);

    set = std::make_unique<inbox>();
    auto unused = set->next();
    set.reset();
}

struct own_weight {
    std::size_t operator()(int item) const noexcept { return static_cast<std::size_t>(item); }
};
using heavy = channel<int, weighted<own_weight>>;

TEST(CaseSet, OfAWeightedChannelHoldsNoLighterItemUp) {
    timed_loop loop;
    heavy ch(10);
    EXPECT_TRUE(ch.try_send(8));
    case_set<int, send_case<heavy>> set;
    const auto it = set.add(ch.send(5), 1);
    EXPECT_FALSE(set.try_next()); // it waits at the head
    EXPECT_TRUE(ch.try_send(1));
    auto got = begin(loop, set);
    EXPECT_FALSE(ch.try_send(1)); // now it waits, so no sender overtakes it
    EXPECT_EQ(*ch.try_receive(), 8);
    loop->run_until_idle();
    EXPECT_TRUE(*got);
    set.rearm(it, 9);
    EXPECT_FALSE(set.try_next());
    EXPECT_EQ(*ch.try_receive(), 1);
    EXPECT_EQ(*ch.try_receive(), 5);
    EXPECT_FALSE(ch.ready()); // its owner is away
}

/// A set with a send for which a channel has no room; there is room for lighter items.
class CaseSetOfAWeightedChannel : public testing::Test {
protected:
    CaseSetOfAWeightedChannel() {
        EXPECT_TRUE(ch.try_send(8));
        set.add(ch.send(5), 1);
        set.add(other.receive(), 2);
    }

    timed_loop loop;
    heavy ch{10};
    channel<int> other{1};
    case_set<int, send_case<heavy>, receive_case<channel<int>>> set;
};

TEST_F(CaseSetOfAWeightedChannel, LetsOthersInAtTheEndOfARound) {
    bool has_sent = false;
    const auto send = [](heavy& to, bool& done) -> task<> {
        done = static_cast<bool>(co_await to.send(1));
    };
    for (const bool is_stopped : {true, false}) { // then no case takes place, or the other one does
        has_sent = false;
        std::stop_source stop;
        auto got = begin(loop, set, stop.get_token());
        loop->spawn(send(ch, has_sent));
        loop->run_until_idle();
        EXPECT_FALSE(has_sent); // no sender overtakes one that waits
        if (is_stopped) {
            stop.request_stop();
        } else {
            EXPECT_TRUE(other.try_send(1));
        }
        loop->run_until_idle();
        ASSERT_TRUE(*got);
        EXPECT_EQ(static_cast<bool>(**got), !is_stopped);
        EXPECT_TRUE(has_sent);
    }
}

TEST_F(CaseSetOfAWeightedChannel, LetsOthersInBeforeItsOwnerGoesOn) {
    auto got = begin(loop, set);
    EXPECT_TRUE(other.try_send(1)); // decides the round
    EXPECT_TRUE(ch.try_send(1));
    loop->run_until_idle();
    EXPECT_TRUE(*got);
}

TEST(CaseSet, OfAWeightedChannelOffersItsCasesInTurn) {
    heavy ch(5);
    case_set<int, send_case<heavy>> set;
    std::vector<case_set<int, send_case<heavy>>::handle<send_case<heavy>>> cases;
    for (const int i : {0, 1, 2}) {
        cases.push_back(set.add(ch.send(5), i));
    }
    EXPECT_TRUE(ch.try_send(5));
    std::vector<int> served;
    for (int i = 0; i != 6; ++i) {
        EXPECT_FALSE(set.try_next()); // it is full
        EXPECT_TRUE(ch.try_receive());
        const auto got = set.try_next();
        ASSERT_TRUE(got);
        served.push_back(got.token());
        set.rearm(cases[static_cast<std::size_t>(got.token())], 5);
    }
    EXPECT_EQ(served, (std::vector{0, 1, 2, 0, 1, 2}));
}

TEST(CaseSet, LetsInAPartyThatDestroysTheChannel) {
    auto ch = std::make_unique<heavy>(10);
    EXPECT_TRUE(ch->try_send(8));
    case_set<int, send_case<heavy>> set;
    set.add(ch->send(5), 1);
    auto waiting = [](auto& in) -> bare_coroutine { static_cast<void>(co_await in.next()); }(set);
    [](auto& to) -> detached_coroutine {
        EXPECT_TRUE(co_await to->send(1));
        to.reset();
    }(ch);
    waiting.destroy();
    EXPECT_EQ(ch, nullptr);
}

TEST(CaseSet, GoesOnAfterAReset) {
    channel<int> ch(1);
    case_set<int, receive_case<channel<int>>> set;
    set.add(ch.receive(), 1);
    EXPECT_FALSE(set.try_next());
    ch.close();
    ch.reset();
    EXPECT_TRUE(ch.try_send(3));
    auto got = set.try_next();
    ASSERT_TRUE(got);
    EXPECT_EQ(*got.get(), 3);
}

TEST(CaseSet, IsCancelledWithItsChannel) {
    timed_loop loop;
    channel<int> ch(1);
    case_set<int, receive_case<channel<int>>> set;
    set.add(ch.receive(), 1);
    auto got = begin(loop, set);
    ch.cancel();
    loop->run_until_idle();
    ASSERT_TRUE(*got);
    EXPECT_EQ((*got)->error(), exchange_errc::cancelled);
    EXPECT_EQ(set.size(), 1U); // it takes part again
    EXPECT_TRUE(ch.try_send(3));
    EXPECT_TRUE(set.try_next());
}

TEST(CaseSet, EndsItsSpans) {
    struct span {
        explicit span(const char* /*name*/) noexcept { ++begun(); }
        void end(std::error_code how) noexcept {
            ++ended();
            last() = how;
        }
        static std::error_code& last() {
            static std::error_code how;
            return how;
        }
        static int& begun() {
            static int count = 0;
            return count;
        }
        static int& ended() {
            static int count = 0;
            return count;
        }
    };
    using traced_channel = synchronous_channel<int, order::fifo, traced<span>>;
    traced_channel ch;
    {
        case_set<int, receive_case<traced_channel>> set;
        set.add(ch.receive(), 1);
        EXPECT_FALSE(set.try_next());
        EXPECT_FALSE(ch.try_send(1));
        EXPECT_FALSE(set.try_next());
    }
    EXPECT_EQ(span::begun(), 2);
    EXPECT_EQ(span::ended(), 2);
    EXPECT_EQ(span::last(), exchange_errc::not_selected);
    {
        case_set<int, receive_case<traced_channel>> set;
        set.add(ch.receive(), 1);
        std::optional<timed_loop> loop(std::in_place);
        const auto got = begin(*loop, set);
        EXPECT_TRUE(ch.try_send(1));
        loop.reset(); // before the owner of the set goes on
        EXPECT_FALSE(*got);
    }
    EXPECT_EQ(span::ended(), 3);
    EXPECT_EQ(span::last(), std::error_code());
}

// ---- Threads.

/// Sends `count` items through `to`, each with patience, and returns how many arrived.
template <class Channels>
int send_some(Channels& to, int count, unsigned seed) {
    int sent = 0;
    for (int i = 0; i != count; ++i) {
        seed = seed * 1664525U + 1013904223U;
        auto& at = to[(seed >> 8U) % to.size()];
        const bool done = seed >> 31U != 0 ? at.try_send(1).has_value()
                                           : sync_wait(at.send(1, 200us)).has_value();
        sent += done ? 1 : 0;
    }
    return sent;
}

TEST(CaseSetOfThreads, TakesEachItemOnce) {
    std::deque<numbers> channels(8);
    std::atomic<int> sent{0};
    std::atomic<int> left{2};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i != 2; ++i) {
        threads.emplace_back([&, i] {
            sent += send_some(channels, 3'000, i);
            --left;
        });
    }
    int received = 0;
    run_loop loop;
    loop.run([](auto& at, auto& senders, int& count) -> task<> {
        inbox set;
        std::vector<inbox::handle<receive_case<numbers>>> handles;
        for (std::size_t i = 0; i != at.size(); ++i) {
            handles.push_back(set.add(at[i].receive(), static_cast<int>(i)));
        }
        for (std::size_t round = 0; senders != 0; ++round) {
            const auto got = co_await set.next(50us);
            count += got ? 1 : 0;
            if (round % 7 == 0) { // while partners come
                const std::size_t i = round / 7 % at.size();
                set.remove(handles[i]);
                handles[i] = set.add(at[i].receive(), static_cast<int>(i));
            }
        }
    }(channels, left, received));
    for (auto& each : threads) {
        each.join();
    }
    EXPECT_EQ(sent, received);
    EXPECT_GT(sent, 0);
}

TEST(CaseSetOfThreads, FaceEachOther) {
    std::deque<exchanger<int>> at(3);
    using set_type = case_set<int, exchange_case<exchanger<int>>>;
    std::atomic<int> met{0};
    std::atomic<int> sum{0};
    std::barrier<> together(3);
    std::vector<std::thread> threads;
    for (int me = 0; me != 3; ++me) {
        threads.emplace_back([&, me] {
            run_loop loop;
            together.arrive_and_wait();
            loop.run([](auto& with, int self, auto& pairs, auto& total) -> task<> {
                set_type set;
                set.add(with[static_cast<std::size_t>(self)].exchange(self), 0);
                set.add(with[static_cast<std::size_t>((self + 1) % 3)].exchange(self), 1);
                for (int i = 0; i != 2'000; ++i) {
                    auto got = co_await set.next(100us);
                    if (got && got.get()) {
                        ++pairs;
                        total += *got.get() - self;
                        set.rearm(got.handle(), self);
                    }
                }
            }(at, me, met, sum));
        });
    }
    for (auto& each : threads) {
        each.join();
    }
    EXPECT_EQ(met % 2, 0);
    EXPECT_GT(met, 0);
    EXPECT_EQ(sum, 0);
}

TEST(CaseSetOfThreads, OutliveChannelsThatEnd) {
    for (int i = 0; i != 2'000; ++i) {
        auto first = std::make_unique<numbers>();
        numbers second;
        inbox set;
        set.add(first->receive(), 1);
        set.add(second.receive(), 2);
        std::atomic<int> stage{0};
        std::thread other([&] {
            while (stage == 0) {
            }
            for (int spin = 0; spin != i % 64; ++spin) {
                EXPECT_FALSE(first->is_closed());
            }
            static_cast<void>(first->try_send(1));
            first.reset();
            EXPECT_TRUE(sync_wait(second.send(2)));
        });
        int closed = 0;
        stage = 1;
        while (true) {
            auto got = sync_wait(set.next());
            ASSERT_TRUE(got);
            if (got.token() == 2) {
                break;
            }
            closed += got.error() == exchange_errc::closed ? 1 : 0;
        }
        other.join();
        if (closed == 0) {
            const auto got = set.try_next();
            closed += got.error() == exchange_errc::closed ? 1 : 0;
        }
        ASSERT_EQ(closed, 1);
    }
}

#ifndef NDEBUG
TEST(CaseSetDeathTest, RefusesWhatCannotBe) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    exchanger<int> ex;
    case_set<int, exchange_case<exchanger<int>>> set;
    set.add(ex.exchange(1), 1);
    EXPECT_DEATH(set.add(ex.exchange(2), 2), "must not be on both sides of one exchanger");
    EXPECT_DEATH(set.rearm(decltype(set)::handle<exchange_case<exchanger<int>>>(), 1),
                 "refers to no case");
    EXPECT_DEATH((void)set.try_next().token(), "no case took place");
}
#endif

} // namespace
} // namespace tryst::test
