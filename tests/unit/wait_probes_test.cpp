// SPDX-License-Identifier: MIT
// The probes of a wait: it begins when a party really waits, not when the party finds its partner
// at once, and it ends once.

#include <concepts>
#include <string_view>

namespace tryst::test {
/// A wait has begun or ended.
void begin_wait(const char* name, const void* waiter) noexcept;
void end_wait(const void* waiter, int outcome) noexcept;
/// The calling thread has come to another step.
void come_to(std::string_view step) noexcept;

// The arguments of a step say which of these is meant.
inline void trace(std::string_view /*step*/, const char* name, const void* waiter,
                  const void* /*exchanger*/) noexcept {
    begin_wait(name, waiter);
}
inline void trace(std::string_view step, const void* waiter, std::integral auto number) noexcept {
    if (step == "wait_end") {
        end_wait(waiter, static_cast<int>(number));
    }
}
inline void trace(std::string_view step, const void* /*of*/ = nullptr,
                  const void* /*waiter*/ = nullptr) noexcept {
    come_to(step);
}
} // namespace tryst::test
#define TRYST_TRACE(step, ...) ::tryst::test::trace(#step __VA_OPT__(, ) __VA_ARGS__)

#include "support/bare_coroutine.hpp"
#include "support/started.hpp"

#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

/// What the probes have shown.
struct record {
    std::map<const void*, std::string> waiting; ///< The exchangers of waits that have not ended.
    std::vector<std::string> ended; ///< Each wait: its exchanger, and the number of its outcome.
    std::string later; ///< The step at which `then` runs next.
    std::function<void()> then;
};
record seen;
std::mutex seen_mutex;

class WaitProbes : public testing::Test {
protected:
    void SetUp() override { seen = {}; }
    void TearDown() override { EXPECT_TRUE(seen.waiting.empty()) << "a wait has not ended"; }

    /// Runs all parties until they wait. Expects so many waits that have not ended, and
    /// these that have.
    void expect(std::size_t waiting, const std::vector<std::string>& ended) {
        start.run();
        EXPECT_EQ(seen.waiting.size(), waiting);
        EXPECT_EQ(seen.ended, ended);
        seen.ended.clear();
    }

    parties start;
};

// ---- Each place where two parties meet.

struct pairs {
    static constexpr bool has_cases = true;
    exchanger<int> at;
    auto first(auto... limit) { return at.exchange(1, limit...); }
    auto second(auto... limit) { return at.exchange(2, limit...); }
};
template <order Order>
struct colours {
    static constexpr bool has_cases = true;
    red_blue_exchanger<int, int, Order> at;
    auto first(auto... limit) { return at.red(1, limit...); }
    auto second(auto... limit) { return at.blue(2, limit...); }
};
template <order Order>
struct hand_over {
    static constexpr bool has_cases = true;
    synchronous_channel<int, Order> at;
    auto first(auto... limit) { return at.send(1, limit...); }
    auto second(auto... limit) { return at.receive(limit...); }
};
struct unbuffered {
    static constexpr bool has_cases = true;
    channel<int> at{0};
    auto first(auto... limit) { return at.send(1, limit...); }
    auto second(auto... limit) { return at.receive(limit...); }
};
struct buffered {
    static constexpr bool has_cases = true;
    channel<int> at{1};
    auto first(auto... limit) { return at.receive(limit...); }
    auto second(auto... limit) { return at.send(1, limit...); }
};
struct batches {
    static constexpr bool has_cases = false;
    channel<int> at{0};
    std::array<int, 2> items{1, 2};
    std::array<int, 2> places{};
    auto first(auto... limit) { return at.receive_some(std::span<int>(places), limit...); }
    auto second(auto... limit) { return at.send_all(std::span<int>(items), limit...); }
};

template <class Place>
class WaitProbesAt : public WaitProbes {
protected:
    void SetUp() override {
        WaitProbes::SetUp();
        place_.at.set_name("at");
    }

    void begin_first() {
        start([this] { return place_.first(); });
        expect(1, {});
    }

    Place place_;
};
using places =
    testing::Types<pairs, colours<order::fifo>, colours<order::lifo>, hand_over<order::fifo>,
                   hand_over<order::lifo>, unbuffered, buffered, batches>;
TYPED_TEST_SUITE(WaitProbesAt, places);

TYPED_TEST(WaitProbesAt, ShowNoWaitOfAnArrivalThatFindsItsPartner) {
    for (int i = 0; i != 3; ++i) {
        this->begin_first();
        this->start([this] { return this->place_.second(); });
        this->expect(0, {"at 0"});
    }
    this->begin_first();
    this->start([this] { return this->place_.second(1h); });
    this->expect(0, {"at 0"});
}

TYPED_TEST(WaitProbesAt, ShowNoWaitOfAThreadThatFindsItsPartner) {
    this->begin_first();
    std::jthread([this] { EXPECT_TRUE(sync_wait(this->place_.second())); }).join();
    this->expect(0, {"at 0"});
}

TYPED_TEST(WaitProbesAt, ShowNoWaitOfACaseThatFindsItsPartner) {
    if constexpr (TypeParam::has_cases) {
        channel<int> other(0);
        this->begin_first();
        this->start([&] { return select(other.receive(), this->place_.second()); });
        this->expect(0, {"at 0"});
    }
}

TYPED_TEST(WaitProbesAt, ShowNoWaitOfAnArrivalThatEndsAtOnce) {
    EXPECT_FALSE(sync_wait(this->place_.first(0ms)));
    std::stop_source stopped;
    stopped.request_stop();
    EXPECT_FALSE(sync_wait(this->place_.first(stopped.get_token())));
    this->place_.at.close();
    EXPECT_FALSE(sync_wait(this->place_.first()));
    this->start([this] { return this->place_.first(); });
    this->start([this] { return select(this->place_.first()); });
    this->expect(0, {});
}

TYPED_TEST(WaitProbesAt, ShowOneEndOfEachWait) {
    EXPECT_FALSE(sync_wait(this->place_.first(1ms)));
    this->expect(0, {"at 1"});
    this->start([this] { return this->place_.first(1ms); });
    this->start.loop.advance(1ms);
    this->expect(0, {"at 1"});
    std::stop_source stop;
    this->start([&] { return this->place_.first(stop.get_token()); });
    this->expect(1, {});
    stop.request_stop();
    this->expect(0, {"at 2"});
    for (const bool selects : {false, true}) {
        {
            parties dying;
            const auto first = [this] { return this->place_.first(); };
            selects ? void(dying([&] { return select(first()); })) : void(dying(first));
            this->expect(1, {});
        }
        this->expect(0, {"at 2"});
    }
    this->begin_first();
    this->place_.at.close();
    this->expect(0, {"at 3"});
}

// ---- Items that are in a channel.

TEST_F(WaitProbes, ShowNoWaitForAnItemOrForRoomThatIsThere) {
    channel<int> at(2);
    at.set_name("at");
    std::array<int, 2> items{1, 2};
    start([&] { return at.send(1); });
    EXPECT_TRUE(sync_wait(at.receive()));
    start([&] { return at.send_all(std::span<int>(items)); });
    EXPECT_TRUE(sync_wait(at.receive_some(std::span<int>(items))));
    expect(0, {});

    // One that waits with a part of its items has one wait.
    std::array<int, 4> many{1, 2, 3, 4};
    start([&] { return at.send_all(std::span<int>(many)); });
    expect(1, {});
    start([&] { return at.receive_some(std::span<int>(many)); });
    expect(0, {"at 0"});
}

TEST_F(WaitProbes, ShowNoWaitForAFutureThatIsReady) {
    const auto take = [this](bool first) {
        future<int> result;
        promise<int> given = result.get_promise();
        if (first) {
            EXPECT_TRUE(given.set(1));
        }
        start([&] { return result.get(); });
        expect(first ? 0 : 1, {});
        if (!first) {
            EXPECT_TRUE(given.set(1));
            expect(0, {" 0"});
        }
    };
    take(true);
    take(false);
}

// ---- Several cases.

bare_coroutine send_now(synchronous_channel<int>& at) {
    (void)co_await at.send(1);
}

TEST_F(WaitProbes, ShowNoWaitOfASelectionThatIsDecidedWhileItRegisters) {
    std::array<synchronous_channel<int>, 2> at; // registered in the order of their addresses
    at[0].set_name("first");
    at[1].set_name("second");
    std::optional<bare_coroutine> sender;
    seen.later = "ticket"; // of the first case
    seen.then = [&] { sender.emplace(send_now(at[1])); };
    start([&] { return select(at[0].receive(), at[1].receive()); });
    expect(0, {"second 0"});
    EXPECT_TRUE(sender && sender->done());
}

TEST_F(WaitProbes, ShowAWaitOfEachCaseThatWaits) {
    std::array<synchronous_channel<int>, 2> at;
    at[0].set_name("first");
    at[1].set_name("second");
    start([&] { return select(at[0].receive(), at[1].receive()); });
    expect(2, {});
    EXPECT_TRUE(at[0].try_send(1));
    expect(0, {"first 0", "second 6"});
}

TEST_F(WaitProbes, ShowAllCasesOfALargeSelection) {
    std::array<synchronous_channel<int>, 2 * detail::held_cases> at;
    const auto receive = [](auto& each) { return each.receive(); };
    start([&] { return select_from(at, receive); });
    expect(at.size(), {});
    EXPECT_TRUE(at.back().try_send(1));
    start.run();
    EXPECT_EQ(seen.ended.size(), at.size());
}

TEST_F(WaitProbes, ShowAWaitOfACaseOfASetFromItsOfferUntilItIsTakenBack) {
    synchronous_channel<int> at;
    at.set_name("at");
    {
        case_set<int, receive_case<synchronous_channel<int>>> set;
        set.add(at.receive(), 7);
        start([&] { return at.send(1); });
        expect(1, {});
        start([&] { return set.next(); });
        expect(0, {"at 0"}); // the sender's

        for (int i = 0; i != 2; ++i) {
            start([&] { return set.next(1ms); });
            start.loop.advance(1ms);
            expect(1, {});
        }
        EXPECT_FALSE(at.try_send(1)); // while the owner is away
        start([&] { return at.send(1); });
        start([&] { return set.next(); });
        expect(0, {"at 6", "at 0"});

        start([&] { return set.next(1ms); });
        start.loop.advance(1ms);
        expect(1, {});
    }
    expect(0, {"at 6"});
}

TEST_F(WaitProbes, ShowNoWaitOfACaseWhoseExchangerHasEnded) {
    case_set<int, receive_case<synchronous_channel<int>>> set;
    {
        synchronous_channel<int> at;
        set.add(at.receive(), 7);
    }
    start([&] { return set.next(); });
    expect(0, {});
}

} // namespace

void begin_wait(const char* name, const void* waiter) noexcept {
    const std::lock_guard here(seen_mutex);
    EXPECT_TRUE(seen.waiting.emplace(waiter, name).second) << "it waits already";
}

void end_wait(const void* waiter, int outcome) noexcept {
    const std::lock_guard here(seen_mutex);
    const auto ending = seen.waiting.extract(waiter);
    EXPECT_TRUE(ending) << "a wait ends that has not begun";
    seen.ended.push_back((ending ? ending.mapped() : "") + " " + std::to_string(outcome));
}

void come_to(std::string_view step) noexcept {
    if (seen.then && step == seen.later) {
        std::exchange(seen.then, nullptr)();
    }
}

} // namespace tryst::test
