// SPDX-License-Identifier: MIT
// A set of cases that stays registered: the programs that its users write first, and its law.
#include <tryst/case_set.hpp>

#include "support/bare_coroutine.hpp"
#include "support/logged_span.hpp"
#include "support/started.hpp"
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
#include <cstddef>
#include <deque>
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

/// Of a channel with a buffer it has room for `limit` items.
template <class Place>
Place make_place(std::size_t limit = 1) {
    if constexpr (requires { typename Place::remaining; }) {
        return Place(limit);
    } else {
        return Place();
    }
}

template <class Place>
std::unique_ptr<Place> new_place(std::size_t limit = 1) {
    return std::unique_ptr<Place>(new Place(make_place<Place>(limit)));
}

// ---- Servers.

TEST(CaseSet, ServesManyChannels) {
    constexpr int rounds = 1'000;
    run_loop loop;
    std::deque<numbers> channels(100);
    inbox set;
    for (int i = 0; i != 100; ++i) {
        set.add(channels[static_cast<std::size_t>(i)].receive(), i);
    }
    EXPECT_EQ(set.size(), 100U);
    int sum = 0;
    const auto serve = [&]() -> task<> {
        for (int i = 0; i != rounds; ++i) {
            auto got = co_await set.next();
            sum += *got.get() - got.token();
        }
    };
    const auto send = [&]() -> task<> {
        for (int i = 0; i != rounds; ++i) {
            const int which = i * 37 % 100;
            const auto sent = co_await channels[static_cast<std::size_t>(which)].send(which + 1);
            EXPECT_TRUE(sent);
        }
    };
    loop.run(when_all(serve(), send()));
    EXPECT_EQ(sum, rounds);
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
    parties start;
    TypeParam at = make_place<TypeParam>();
    case_set<int, receive_case<TypeParam>> set;
    set.add(at.receive(), 7);
    EXPECT_EQ(set.try_next().error(), exchange_errc::no_partner); // now it is in the list
    const bool is_kept = at.try_send(1).has_value();
    EXPECT_EQ(is_kept, (requires { typename TypeParam::remaining; })) << "in its buffer";
    for (int i = is_kept ? 1 : 2; i != 6; ++i) {
        const auto got = start([&] { return set.next(); });
        EXPECT_EQ(got.waits(), i != 1);
        if (got.waits()) {
            EXPECT_TRUE(at.try_send(i));
            start.run();
        }
        ASSERT_TRUE(got.ok());
        EXPECT_EQ(got->token(), 7);
        EXPECT_EQ(*got->get(), i);
    }
}

TYPED_TEST(CaseSetAt, MeetsWhoeverCameMeanwhile) {
    parties start;
    TypeParam at = make_place<TypeParam>();
    case_set<int, receive_case<TypeParam>> set;
    set.add(at.receive(), 7);
    EXPECT_FALSE(set.try_next());
    const auto send = [&] { return at.send(4); };
    const std::array senders{start(send), start(send), start(send)};
    for (int i = 0; i != 3; ++i) {
        const auto got = start([&] { return set.next(); });
        ASSERT_TRUE(got.ok());
        EXPECT_EQ(*got->get(), 4);
    }
    start.run();
    for (const auto& each : senders) {
        EXPECT_TRUE(each.ok());
    }
    EXPECT_FALSE(set.try_next());
}

TYPED_TEST(CaseSetAt, SendsWhatItWasGiven) {
    parties start;
    TypeParam at = make_place<TypeParam>();
    case_set<int, send_case<TypeParam>> set;
    const auto it = set.add(at.send(1), 7);
    for (int i = 1; i != 5; ++i) {
        const auto got = start([&] { return set.next(); });
        EXPECT_EQ(at.try_receive(), i);
        start.run();
        ASSERT_TRUE(got.ok());
        EXPECT_TRUE(got->get());
        EXPECT_EQ(got->handle(), it);
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

/// By a close, or because the place has ended.
TYPED_TEST(CaseSetAt, IsToldOnceThatItIsClosed) {
    enum class moment { added, listed, handed_back, waiting };
    for (const bool ends : {false, true}) {
        for (const auto when :
             {moment::added, moment::listed, moment::handed_back, moment::waiting}) {
            SCOPED_TRACE(testing::Message() << static_cast<int>(when) << (ends ? ", ends" : ""));
            parties start;
            auto at = new_place<TypeParam>(0);
            case_set<int, receive_case<TypeParam>> set;
            set.add(at->receive(), 7);
            if (when != moment::added) {
                EXPECT_FALSE(set.try_next());
            }
            if (when == moment::handed_back) {
                EXPECT_FALSE(at->try_send(1));
            }
            const auto next = [&] { return set.next(); };
            std::optional<decltype(start(next))> got;
            if (when == moment::waiting) {
                got = start(next);
            }
            ends ? at.reset() : at->close();
            start.run();
            if (!got) {
                got = start(next);
            }
            ASSERT_TRUE(got->ok());
            EXPECT_EQ(got->error(), exchange_errc::closed);
            EXPECT_EQ((*got)->token(), 7);
            EXPECT_TRUE(set.empty());
            EXPECT_EQ(set.try_next().error(), exchange_errc::no_partner);
        }
    }
}

TYPED_TEST(CaseSetAt, IsRemovedAfterItsPlaceHasEnded) {
    auto at = new_place<TypeParam>();
    case_set<int, receive_case<TypeParam>> set;
    const auto it = set.add(at->receive(), 7);
    EXPECT_FALSE(set.try_next());
    at.reset();
    const auto left = set.remove(it);
    ASSERT_TRUE(left);
    EXPECT_FALSE(*left);
}

TYPED_TEST(CaseSetAt, IsMetBySelectionsAndOtherSets) {
    parties start;
    TypeParam at = make_place<TypeParam>();
    TypeParam other = make_place<TypeParam>();
    case_set<int, receive_case<TypeParam>> receiving;
    case_set<int, send_case<TypeParam>> sending;
    receiving.add(at.receive(), 1);
    receiving.add(other.receive(), 2);
    EXPECT_FALSE(receiving.try_next());
    const auto it = sending.add(other.send(3), 0);
    for (int i = 0; i != 3; ++i) {
        const auto got = start([&] { return receiving.next(); });
        const auto sent = start([&] { return sending.next(); });
        ASSERT_TRUE(got.ok());
        EXPECT_EQ(got->token(), 2);
        EXPECT_EQ(*got->get(), 3);
        ASSERT_TRUE(sent.ok());
        EXPECT_TRUE(sent->get());
        sending.rearm(it, 3);
    }
    sending.remove(it);
    const auto got = start([&] { return receiving.next(); });
    EXPECT_TRUE(start([&] { return select(at.send(4), other.send(4)); }).ok());
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(*got->get(), 4);
}

TEST(CaseSet, MakesAChannelReadyOnlyWhileItsOwnerWaits) {
    parties start;
    channel<int> ch(0);
    case_set<int, send_case<channel<int>>> set;
    set.add(ch.send(1), 1);
    EXPECT_FALSE(set.try_next()); // now it is in the list
    EXPECT_FALSE(ch.ready());
    const auto sent = start([&] { return set.next(); });
    EXPECT_TRUE(ch.ready());
    EXPECT_EQ(ch.try_receive(), 1);
    start.run();
    EXPECT_TRUE(sent.ok());
}

// ---- Exchangers, and cases of several types.

TEST(CaseSet, HasCasesOfSeveralTypes) {
    parties start;
    channel<std::string> requests(2);
    numbers ticks;
    red_blue_exchanger<std::unique_ptr<int>, int> swaps;
    case_set<const char*, receive_case<channel<std::string>>, receive_case<numbers>,
             send_case<numbers>, decltype(swaps.red(nullptr))>
        set;
    set.add(requests.receive(), "request");
    set.add(ticks.receive(), "tick");
    const auto swap = set.add(swaps.red(std::make_unique<int>(5)), "swap");
    EXPECT_FALSE(set.try_next());

    const auto tick = start([&] { return set.next(); });
    EXPECT_TRUE(ticks.try_send(3));
    start.run();
    ASSERT_TRUE(tick.ok());
    EXPECT_STREQ(tick->token(), "tick");
    EXPECT_EQ(tick->index(), 1U);
    EXPECT_EQ(tick->get<1>(), 3);
    EXPECT_TRUE(tick->visit([](const auto& result) {
        if constexpr (requires { *result == 3; }) {
            return *result == 3;
        }
        return false;
    }));

    EXPECT_TRUE(requests.try_send("hello"));
    const auto request = start([&] { return set.next(); });
    ASSERT_TRUE(request.ok());
    EXPECT_EQ(request->index(), 0U);
    EXPECT_EQ(request->get<0>(), "hello");

    const auto swapped = start([&] { return set.next(); });
    EXPECT_EQ(**swaps.try_blue(9), 5);
    start.run();
    ASSERT_TRUE(swapped.ok());
    EXPECT_EQ(swapped->handle<3>(), swap);
    EXPECT_EQ(swapped->get<3>(), 9);
    set.rearm(swap, std::make_unique<int>(6));
    EXPECT_EQ(*set.remove(swap)->returned(), 6);
}

TEST(CaseSet, ServesReadyCasesInTurn) {
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
        ++served.at(static_cast<std::size_t>(set.try_next().token()));
    }
    EXPECT_EQ(served, (std::array{50, 50, 50, 50}));
}

// ---- Limits and ends.

TEST(CaseSet, EndsARoundAtItsLimits) {
    parties start;
    numbers ch;
    inbox set;
    set.add(ch.receive(), 1);
    inplace_stop_source source;
    const auto timed = start([&] { return set.next(5ms); });
    EXPECT_TRUE(timed.waits());
    start.loop.advance(5ms);
    EXPECT_EQ(timed.error(), exchange_errc::timed_out);

    const auto stopped = start([&] { return set.next(1h, source.get_token()); });
    EXPECT_TRUE(stopped.waits());
    source.request_stop();
    start.run();
    EXPECT_EQ(stopped.error(), exchange_errc::cancelled);
    EXPECT_FALSE(ch.try_send(1));

    const auto late = start([&] { return set.next(source.get_token()); });
    EXPECT_EQ(late.error(), exchange_errc::cancelled);
    EXPECT_EQ(start([&] { return set.next(0ms); }).error(), exchange_errc::timed_out);

    const auto met = start([&] { return set.next(5ms); });
    EXPECT_TRUE(ch.try_send(2));
    start.run();
    ASSERT_TRUE(met.ok());
    EXPECT_EQ(*met->get(), 2);
}

TEST(CaseSet, WithoutACaseThatCouldTakePlaceFailsAtOnce) {
    parties start;
    numbers ch;
    outbox set;
    const auto next = [&] { return set.next(); };
    EXPECT_EQ(start(next).error(), exchange_errc::no_partner);
    set.add(ch.send(1), 1);
    const auto sent = start(next);
    EXPECT_TRUE(ch.try_receive());
    start.run();
    EXPECT_TRUE(sent.ok());
    EXPECT_EQ(start(next).error(), exchange_errc::no_partner); // it is idle
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
    census kept;
    synchronous_channel<tracked> ch;
    case_set<int, receive_case<synchronous_channel<tracked>>> set;
    const auto in_a_round_that_is_destroyed = [&](auto act) {
        run_loop loop;
        loop.spawn([](auto& from) -> task<> {
            const auto got = co_await from.next();
            ADD_FAILURE() << "resumed";
        }(set));
        loop.run_until_idle();
        act();
    };
    for (const bool removes : {false, true}) {
        const auto it = set.add(ch.receive(), 1);
        in_a_round_that_is_destroyed([] {}); // while it waits
        EXPECT_FALSE(ch.try_send(tracked(kept, 1)));
        in_a_round_that_is_destroyed([&] { EXPECT_TRUE(ch.try_send(tracked(kept, 2))); });
        if (removes) {
            const auto left = set.remove(it);
            ASSERT_TRUE(left);
            EXPECT_EQ((*left)->id(), 2);
            EXPECT_EQ(set.try_next().error(), exchange_errc::no_partner);
        } else {
            EXPECT_EQ(set.try_next().get()->id(), 2);
            set.remove(it);
        }
    }
    EXPECT_EQ(kept.alive, 0);
}

// ---- Others who run inline, or end what the set uses.

TYPED_TEST(CaseSetAt, MayBeDestroyedDuringItsEnd) {
    auto at = new_place<TypeParam>();
    auto set = std::make_unique<case_set<int, receive_case<TypeParam>>>();
    bool ended = false;
    [](auto& from, auto& also, bool& done) -> detached_coroutine {
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
    [](auto& of, bool& done) -> detached_coroutine {
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
    parties start;
    heavy ch(10);
    EXPECT_TRUE(ch.try_send(8));
    case_set<int, send_case<heavy>> set;
    const auto it = set.add(ch.send(5), 1);
    EXPECT_FALSE(set.try_next()); // it waits at the head
    EXPECT_TRUE(ch.try_send(1));
    const auto got = start([&] { return set.next(); });
    EXPECT_FALSE(ch.try_send(1)); // now it waits, so no sender overtakes it
    EXPECT_EQ(ch.try_receive(), 8);
    start.run();
    EXPECT_TRUE(got.ok());
    set.rearm(it, 9);
    EXPECT_FALSE(set.try_next());
    EXPECT_EQ(ch.try_receive(), 1);
    EXPECT_EQ(ch.try_receive(), 5);
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

    parties start;
    heavy ch{10};
    channel<int> other{1};
    case_set<int, send_case<heavy>, receive_case<channel<int>>> set;
};

TEST_F(CaseSetOfAWeightedChannel, LetsOthersInAtTheEndOfARound) {
    for (const bool is_stopped : {true, false}) { // then no case takes place, or the other one does
        std::stop_source stop;
        const auto got = start([&] { return set.next(stop.get_token()); });
        const auto light = start([&] { return ch.send(1); });
        EXPECT_TRUE(light.waits()); // no sender overtakes one that waits
        if (is_stopped) {
            stop.request_stop();
        } else {
            EXPECT_TRUE(other.try_send(1));
        }
        start.run();
        EXPECT_EQ(got.ok(), !is_stopped);
        EXPECT_TRUE(light.ok());
    }
}

TEST_F(CaseSetOfAWeightedChannel, LetsOthersInBeforeItsOwnerGoesOn) {
    const auto got = start([&] { return set.next(); });
    EXPECT_TRUE(other.try_send(1)); // decides the round
    EXPECT_TRUE(ch.try_send(1));
    start.run();
    EXPECT_TRUE(got.ok());
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

TEST(CaseSet, IsDecidedBeforeItsPartnerLetsOthersIn) {
    numbers first;
    numbers second;
    heavy ch(10);
    EXPECT_TRUE(ch.try_send(8));
    const auto select_heavy = [&]() -> bare_coroutine {
        EXPECT_TRUE((co_await select(second.send(4), ch.send(5))).get<0>());
    };
    bool was_let_in = false;
    const auto send_light = [&]() -> bare_coroutine {
        EXPECT_TRUE(co_await ch.send(1));
        was_let_in = true;
        EXPECT_FALSE(first.try_send(1)); // and does not wait for the set
    };
    const auto partner = select_heavy();
    const auto lighter = send_light();
    case_set<int, receive_case<numbers>> set;
    set.add(first.receive(), 1);
    set.add(second.receive(), 2);
    const auto got = set.try_next();
    ASSERT_TRUE(got);
    EXPECT_EQ(got.token(), 2);
    EXPECT_TRUE(was_let_in);
    EXPECT_TRUE(partner.done() && lighter.done());
}

TEST(CaseSet, GoesOnAfterACancellationAndAReset) {
    parties start;
    channel<int> ch(1);
    case_set<int, receive_case<channel<int>>> set;
    set.add(ch.receive(), 1);
    const auto got = start([&] { return set.next(); });
    ch.cancel();
    start.run();
    EXPECT_EQ(got.error(), exchange_errc::cancelled);
    EXPECT_EQ(set.size(), 1U); // it takes part again
    EXPECT_TRUE(ch.try_send(3));
    EXPECT_TRUE(set.try_next());
    EXPECT_FALSE(set.try_next());
    ch.close();
    ch.reset();
    EXPECT_TRUE(ch.try_send(4));
    EXPECT_EQ(set.try_next().get(), 4);
}

TEST(CaseSet, EndsItsSpans) {
    logged_span::lines.clear();
    using traced_channel = synchronous_channel<int, order::fifo, traced<logged_span>>;
    traced_channel ch;
    ch.set_name("ch");
    const std::string lost = "ch: " + make_error_code(exchange_errc::not_selected).message();
    {
        case_set<int, receive_case<traced_channel>> set;
        set.add(ch.receive(), 1);
        EXPECT_FALSE(set.try_next());
        EXPECT_FALSE(ch.try_send(1));
        EXPECT_FALSE(set.try_next());
    }
    EXPECT_EQ(logged_span::lines, (std::vector{lost, lost}));
    {
        case_set<int, receive_case<traced_channel>> set;
        set.add(ch.receive(), 1);
        parties start;
        const auto got = start([&] { return set.next(); });
        EXPECT_TRUE(ch.try_send(1));
        EXPECT_TRUE(got.waits());
    } // before the owner of the set goes on
    EXPECT_EQ(logged_span::lines, (std::vector<std::string>{lost, lost, "ch: exchanged"}));
    EXPECT_EQ(logged_span::alive, 0);
}

// ---- Threads.

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

} // namespace
} // namespace tryst::test
