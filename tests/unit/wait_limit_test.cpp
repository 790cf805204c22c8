// SPDX-License-Identifier: MIT
// Every operation takes the same limits, as its last arguments, in either order.
#include <tryst/wait_limit.hpp>

#include <tryst/exchanger.hpp>
#include <tryst/inplace_stop_token.hpp>
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/select.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/synchronous_channel.hpp>
#include <tryst/task.hpp>
#include <tryst/when_any.hpp>

#include "support/manual_clock.hpp"
#include "support/tracked.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using tryst::exchange_errc;
using tryst::order;
using tryst::task;
using tryst::test::census;
using tryst::test::timed_loop;
using tryst::test::tracked;

/// Where the party waits. No partner comes.
struct places {
    census items;
    tryst::exchanger<tracked> swaps;
    tryst::red_blue_exchanger<tracked, tracked, order::lifo> sides;
    tryst::synchronous_channel<tracked> line;
    std::array<tryst::synchronous_channel<tracked>, 3> lines;

    tracked item() { return tracked(items, 1); }
};

/// The reason of a failure, and whether the own item came back.
template <class Own>
std::error_code failure_of(const tryst::exchange_result<tracked, Own>& got) {
    EXPECT_FALSE(got);
    return got.error();
}
std::error_code failure_of(const tryst::exchange_result<void, tracked>& got) {
    EXPECT_EQ(got.returned().id(), 1);
    return got.error();
}
template <class... Case>
std::error_code failure_of(const tryst::select_result<Case...>& got) {
    const std::error_code why = got.template get<0>().error();
    EXPECT_EQ(got.index() == tryst::select_npos, why != exchange_errc::closed); // a case of its own
    return why;
}
template <class Cases>
std::error_code failure_of(tryst::select_from_result<Cases> got) {
    const std::error_code why = got[0].error();
    EXPECT_EQ(got.index() == tryst::select_npos, why != exchange_errc::closed);
    return why;
}
template <class Result>
std::error_code failure_of(tryst::when_any_result<Result> got) {
    const auto swapped = got.template get<0>();
    EXPECT_EQ(swapped.returned().id(), 1);
    return got.index() == tryst::when_any_npos ? exchange_errc::timed_out : swapped.error();
}

// ---- The operations

constexpr auto exchanging = [](places& at, auto... limit) {
    return at.swaps.exchange(at.item(), std::move(limit)...);
};
constexpr auto as_red = [](places& at, auto... limit) {
    return at.sides.red(at.item(), std::move(limit)...);
};
constexpr auto as_blue = [](places& at, auto... limit) {
    return at.sides.blue(at.item(), std::move(limit)...);
};
constexpr auto sending = [](places& at, auto... limit) {
    return at.line.send(at.item(), std::move(limit)...);
};
constexpr auto receiving = [](places& at, auto... limit) {
    return at.line.receive(std::move(limit)...);
};
constexpr auto selecting = [](places& at, auto... limit) {
    return tryst::select(at.swaps.exchange(at.item()), at.line.receive(), std::move(limit)...);
};
constexpr auto selecting_in_order = [](places& at, auto... limit) {
    return tryst::select_biased(at.line.send(at.item()), std::move(limit)...);
};
constexpr auto selecting_from = [](places& at, auto... limit) {
    return tryst::select_from(
        at.lines, [](auto& each) { return each.receive(); }, std::move(limit)...);
};
constexpr auto any = [](places& at, auto... limit) {
    return tryst::when_any(
        [&at](auto stop) { return at.swaps.exchange(at.item(), std::move(stop)); },
        std::move(limit)...);
};

template <auto Call>
struct operation {
    static constexpr auto call = Call;
};

template <class Operation>
class WaitLimit : public ::testing::Test {
protected:
    template <class... Limit>
    void start(Limit... limit) {
        got_.reset();
        loop_->spawn([](WaitLimit& self, Limit... until) -> task<> {
            auto got = co_await Operation::call(self.at_, std::move(until)...);
            self.got_ = failure_of(std::move(got));
        }(*this, std::move(limit)...));
        loop_.advance(0ms);
    }

    /// Starts the operation with these limits, of which one is a time in 5 ms.
    template <class... Limit>
    void expect_timeout(Limit... limit) {
        start(std::move(limit)...);
        loop_.advance(5ms - 1ns);
        EXPECT_FALSE(got_);
        loop_.advance(1ns);
        EXPECT_EQ(got_, exchange_errc::timed_out);
        EXPECT_EQ(at_.items.alive, 0);
    }

    /// Starts the operation with these limits, of which one is the source's token.
    template <class Source, class... Limit>
    void expect_stop(Source& source, Limit... limit) {
        start(std::move(limit)...);
        loop_.advance(1ms);
        EXPECT_FALSE(got_);
        source.request_stop();
        loop_->run_until_idle();
        EXPECT_EQ(got_, exchange_errc::cancelled);
        EXPECT_EQ(at_.items.alive, 0);
    }

    places at_;
    timed_loop loop_;
    std::optional<std::error_code> got_;
};

using operations =
    ::testing::Types<operation<exchanging>, operation<as_red>, operation<as_blue>,
                     operation<sending>, operation<receiving>, operation<selecting>,
                     operation<selecting_in_order>, operation<selecting_from>, operation<any>>;
TYPED_TEST_SUITE(WaitLimit, operations);

TYPED_TEST(WaitLimit, MayBeATimeOrAStopOrBothInEitherOrder) {
    std::stop_source first;
    this->expect_timeout(5ms);
    this->expect_timeout(this->loop_.now() + 5ms, first.get_token());
    this->expect_timeout(first.get_token(), 5ms);
    this->start(0ms);
    EXPECT_EQ(this->got_, exchange_errc::timed_out);
    this->expect_stop(first, 5ms, first.get_token());
    this->start(first.get_token()); // which was requested before
    EXPECT_EQ(this->got_, exchange_errc::cancelled);
    tryst::inplace_stop_source second;
    this->expect_stop(second, second.get_token());
    tryst::inplace_stop_source third;
    this->expect_stop(third, third.get_token(), this->loop_.now() + 1h);
}

TYPED_TEST(WaitLimit, MayBeAnythingThatNeverEnds) {
    this->start(std::chrono::hours::max(), std::stop_token());
    this->loop_.advance(24h);
    EXPECT_FALSE(this->got_);
    this->at_.swaps.close();
    this->at_.sides.close();
    this->at_.line.close();
    this->at_.lines[0].close();
    this->loop_->run_until_idle();
    EXPECT_EQ(this->got_, exchange_errc::closed);
}

TYPED_TEST(WaitLimit, HoldsOnAThreadToo) {
    const auto start = steady_clock::now();
    auto got = tryst::sync_wait(TypeParam::call(this->at_, 2ms, std::stop_token()));
    EXPECT_EQ(failure_of(std::move(got)), exchange_errc::timed_out);
    EXPECT_GE(steady_clock::now() - start, 2ms);
}

// All operations have their types of limits from the same place.
using WaitLimitOfAnExchange = WaitLimit<operation<exchanging>>;

TEST_F(WaitLimitOfAnExchange, MayBeATimeOfAnyType) {
    expect_timeout(std::chrono::duration<double>(0.005));
    expect_timeout(std::chrono::duration<short, std::milli>(5));
    using microseconds = std::chrono::duration<long long, std::micro>;
    expect_timeout(std::chrono::time_point_cast<microseconds>(loop_.now()) + 5ms);
    std::stop_source stop;
    expect_timeout(5ms, stop.get_token());
    expect_timeout(stop.get_token(), loop_.now() + 5ms);
    start(loop_.now());
    EXPECT_EQ(got_, exchange_errc::timed_out);
}

} // namespace
