// SPDX-License-Identifier: MIT
// What ends a wait: each kind of party, with each choice of limits, when each event happens.
// Several events at once, in every order, are in tests/model.
#include <tryst/exchanger.hpp>

#include "support/insides.hpp"
#include "support/joined_coroutine.hpp"
#include "support/limited.hpp"
#include "support/manual_clock.hpp"
#include "support/parties.hpp"
#include "support/tracked.hpp"

#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
using meeting = exchanger<tracked>;

// ---- The situations.

enum class kind : std::uint8_t {
    task, ///< On a loop, which owns its frame.
    coroutine, ///< On a loop; its frame belongs to another task there.
    bare, ///< A coroutine without an executor.
    thread,
};
constexpr const char* kinds[] = {"Task", "Coroutine", "Bare", "Thread"};

enum class moment : std::uint8_t { before_start, first_turn, waiting };
constexpr const char* moments[] = {"before its start", "in its first turn", "while it waits"};

enum class event : std::uint8_t { partner, stop, deadline, close, end_of_exchanger, end_of_frame };
constexpr const char* events[] = {"partner", "stop", "deadline", "close", "~exchanger", "~frame"};
constexpr int event_count = 6;

struct situation {
    kind party;
    limit limits;
    int slots; ///< In use, above the wait list.
    moment when;
    event happens;
    bool elsewhere; ///< On another thread.

    bool is_on_loop() const { return party == kind::task || party == kind::coroutine; }
    /// Whether the deadline that ends the wait is one of the real clock.
    bool waits_for_clock() const {
        return !is_on_loop() && when == moment::waiting && happens == event::deadline;
    }

    bool is_possible() const {
        const bool ends_frame = happens == event::end_of_frame;
        return (has_stop(limits) || happens != event::stop) &&
               (has_deadline(limits) || happens != event::deadline) &&
               (is_on_loop() || when != moment::first_turn) &&
               // What must not happen.
               !(when == moment::before_start &&
                 (ends_frame || happens == event::end_of_exchanger)) &&
               !(party == kind::thread && ends_frame) &&
               // What would make no difference.
               !(elsewhere && (when == moment::before_start || party == kind::thread ||
                               waits_for_clock() || ends_frame));
    }
};

std::string name_of(const situation& s) {
    std::string name = s.slots == 0 ? "in the wait list" : "with an arena";
    name.append(", ").append(moments[static_cast<int>(s.when)]);
    name.append(": ").append(events[static_cast<int>(s.happens)]);
    return name + (s.elsewhere ? " on another thread" : "");
}

constexpr long own_item = 1;
constexpr long partners_item = 2;

/// The end of an exchange: why it failed, if it did, and the item that its party then has.
struct ending {
    std::error_code why;
    long item;
    bool operator==(const ending&) const = default;
};
void PrintTo(const ending& e, std::ostream* to) {
    *to << (e.why ? e.why.message() : "exchanged") << ", has item " << e.item;
}

ending ending_of(const exchange_result<tracked>& got) {
    return got ? ending{{}, got->id()} : ending{got.error(), got.returned().id()};
}

ending ending_by(event e) {
    switch (e) {
    case event::partner:
        return {{}, partners_item};
    case event::stop:
        return {exchange_errc::cancelled, own_item};
    case event::deadline:
        return {exchange_errc::timed_out, own_item};
    default:
        return {exchange_errc::closed, own_item};
    }
}

// ---- One situation, played and checked.

class world {
public:
    explicit world(const situation& s) : of_(s) {
        grow(*used_, s.slots);
        if (s.is_on_loop()) {
            loop_ = std::make_unique<manual_loop>(run_loop_options(), manual_clock(dial_));
            deadline_ = dial_.time + 5ms;
        } else if (s.happens == event::deadline) {
            deadline_ = steady::now() + (s.when == moment::waiting ? 1ms : 0ms);
        }
    }
    ~world() {
        if (coroutine_) {
            coroutine_->destroy();
        }
    }

    void play() {
        if (of_.when == moment::before_start) {
            happen();
            start();
            if (loop_) {
                EXPECT_EQ(loop_->run_until_idle(), 1U) << "it was suspended";
            }
        } else if (of_.party == kind::task) {
            start();
            if (of_.when == moment::first_turn) {
                loop_->stop();
                loop_->run(); // starts the task, and stops before the turn is over
            } else {
                loop_->run_until_idle();
            }
            happen();
        } else if (of_.party == kind::coroutine) {
            start();
            if (of_.when == moment::waiting) {
                loop_->run_until_idle();
            }
            loop_->spawn(call([this] { happen(); }));
        } else {
            start();
            if (!of_.waits_for_clock()) {
                until_someone_waits(*used_);
            }
            happen();
        }
        if (loop_) {
            loop_->run_until_idle();
        } else if (of_.party == kind::thread || of_.waits_for_clock()) {
            wait_for_other_thread();
        }
    }

    void check() {
        const int ends = of_.happens == event::end_of_frame ? 0 : 1;
        EXPECT_EQ(ended_, ends) << "the times that it went on";
        if (got_) {
            EXPECT_EQ(ending_of(*got_), ending_by(of_.happens));
            EXPECT_TRUE(is_home_) << "it goes on where it waited";
        }
        if (of_.happens == event::partner) {
            ASSERT_TRUE(partners_);
            EXPECT_EQ(ending_of(*partners_), (ending{{}, own_item}));
        }
        happen_again();
        EXPECT_EQ(ended_, ends) << "after events that came too late";
        if (exchanger_) {
            EXPECT_FALSE(waits_in_arena(*used_));
            if (!used_->is_closed()) {
                expect_that_others_meet();
            }
        }
        got_.reset();
        partners_.reset();
        EXPECT_EQ(items_.alive, 0);
    }

private:
    // The party.

    template <class Coroutine, class... Limit>
    Coroutine wait(Limit... limit) {
        auto got = co_await used_->exchange(tracked(items_, own_item), std::move(limit)...);
        note(std::move(got));
    }
    auto exchange_as(auto use) {
        return with_limits(of_.limits, deadline_, stop_.get_token(), use);
    }
    template <class Coroutine>
    Coroutine wait_with_limits() {
        return exchange_as(
            [this](auto... limit) { return this->template wait<Coroutine>(limit...); });
    }

    void start() {
        switch (of_.party) {
        case kind::task:
            loop_->spawn(wait_with_limits<task<>>());
            break;
        case kind::coroutine:
            loop_->spawn(
                call([this] { coroutine_.emplace(wait_with_limits<joined_coroutine>()); }));
            break;
        case kind::bare:
            coroutine_.emplace(wait_with_limits<joined_coroutine>());
            break;
        case kind::thread:
            thread_ = std::thread([this] {
                note(exchange_as([this](auto... limit) {
                    return sync_wait(used_->exchange(tracked(items_, own_item), limit...));
                }));
            });
            break;
        }
    }

    void note(exchange_result<tracked> got) {
        got_.emplace(std::move(got));
        const bool on_this_thread = std::this_thread::get_id() == here_;
        if (loop_) {
            is_home_ = on_this_thread && current_executor() == loop_->executor();
        } else {
            const bool is_resumed_inline = of_.party == kind::bare && !of_.elsewhere;
            is_home_ = !current_executor() &&
                       (of_.waits_for_clock() || on_this_thread == is_resumed_inline);
        }
        ++ended_;
    }

    // The events.

    void happen() {
        if (of_.when != moment::before_start && !of_.waits_for_clock()) {
            const bool spreads = of_.when == moment::first_turn && of_.slots != 0;
            EXPECT_EQ(waits_in_list(*used_), !spreads);
            EXPECT_EQ(waits_in_arena(*used_), spreads);
            EXPECT_EQ(ended_, 0) << "while it waits";
        }
        if (of_.elsewhere) {
            std::thread([this] { bring_about(of_.happens); }).join();
        } else {
            bring_about(of_.happens);
        }
    }

    void bring_about(event e) {
        switch (e) {
        case event::partner:
            if (of_.when == moment::before_start) {
                partner_.emplace(bare_party(
                    partners_, [this] { return used_->exchange(tracked(items_, partners_item)); }));
            } else {
                partners_.emplace(used_->try_exchange(tracked(items_, partners_item)));
            }
            break;
        case event::stop:
            stop_.request_stop();
            break;
        case event::deadline:
            dial_.time += 5ms;
            break;
        case event::close:
            used_->close();
            break;
        case event::end_of_exchanger:
            exchanger_.reset();
            break;
        case event::end_of_frame:
            if (of_.party == kind::task) {
                loop_.reset();
            } else {
                coroutine_->destroy();
                coroutine_.reset();
            }
            break;
        }
    }

    /// Everything that may come too late.
    void happen_again() {
        stop_.request_stop();
        dial_.time += 1h;
        if (loop_) {
            loop_->run_until_idle();
        }
    }

    template <class Body>
    static task<> call(Body body) {
        body();
        co_return;
    }

    void wait_for_other_thread() {
        for (int i = 0; ended_ == 0 && i != 20'000; ++i) {
            std::this_thread::sleep_for(1ms);
        }
        if (ended_ == 0) {
            ADD_FAILURE() << "it was not woken";
            used_->close();
        }
        if (thread_.joinable()) {
            thread_.join();
        } else {
            coroutine_->join();
        }
    }

    // What the others see.

    void expect_that_others_meet() {
        EXPECT_FALSE(waits_in_list(*used_));
        received<tracked> first;
        const auto waiting =
            bare_party(first, [this] { return used_->exchange(tracked(items_, 3)); });
        const auto second = used_->try_exchange(tracked(items_, 4));
        EXPECT_EQ(ending_of(second), (ending{{}, 3}));
        ASSERT_TRUE(first);
        EXPECT_EQ(ending_of(*first), (ending{{}, 4}));
    }

    const situation of_;
    const std::thread::id here_ = std::this_thread::get_id();
    census items_;
    std::unique_ptr<meeting> exchanger_ = std::make_unique<meeting>(1);
    meeting* const used_ = exchanger_.get();
    std::stop_source stop_;
    manual_clock::dial dial_;
    steady::time_point deadline_ = steady::now() + 1h;
    received<tracked> got_;
    bool is_home_ = false;
    std::atomic<int> ended_{0};
    received<tracked> partners_;
    std::optional<bare_coroutine> partner_;
    std::optional<joined_coroutine> coroutine_;
    std::thread thread_;
    std::unique_ptr<manual_loop> loop_;
};

class EndOfAWait : public testing::TestWithParam<std::tuple<kind, limit>> {
protected:
    void SetUp() override { std::tie(party, limits) = GetParam(); }

    void expect_all(int slots, moment when) const {
        for (int e = 0; e != event_count; ++e) {
            for (const bool elsewhere : {false, true}) {
                expect_end({party, limits, slots, when, static_cast<event>(e), elsewhere});
            }
        }
    }

    kind party{};
    limit limits{};

private:
    static void expect_end(const situation& s) {
        if (s.is_possible() && !HasFailure()) {
            SCOPED_TRACE(name_of(s));
            world w(s);
            w.play();
            w.check();
        }
    }
};

TEST_P(EndOfAWait, GivesThePartyItsResultWhereItWaited) {
    for (const moment when : {moment::before_start, moment::first_turn, moment::waiting}) {
        for (const int slots : {0, 1}) {
            expect_all(slots, when);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Of, EndOfAWait,
                         testing::Combine(testing::Values(kind::task, kind::coroutine, kind::bare,
                                                          kind::thread),
                                          testing::ValuesIn(all_limits)),
                         [](const auto& of) {
                             return std::string(kinds[static_cast<int>(std::get<0>(of.param))]) +
                                    name_of(std::get<1>(of.param));
                         });

} // namespace
} // namespace tryst::test
