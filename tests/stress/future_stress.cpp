// SPDX-License-Identifier: MIT
// A future, its promise and a stop on three threads: each end may come first.
#include <tryst/channel.hpp>
#include <tryst/future.hpp>
#include <tryst/inplace_stop_token.hpp>
#include <tryst/select.hpp>
#include <tryst/sync_wait.hpp>

#include "support/bare_coroutine.hpp"
#include "support/tracked.hpp"

#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

using reply = future<tracked>;
using result = exchange_result<tracked, void>;

struct stage {
    std::optional<reply> place;
    std::optional<promise<tracked>> by;
    std::optional<inplace_stop_source> stop;
    channel<int> never{1};
    std::optional<result> got;

    void take(result&& now) { got.emplace(std::move(now)); }
    bool has_got() const { return got && got->has_value(); }
};

void get(stage& at) {
    at.take(sync_wait(at.place->get(at.stop->get_token())));
}
void get_twice(stage& at) {
    at.take(sync_wait(at.place->get(1us)));
    if (!at.has_got()) {
        get(at);
    }
}
void try_to_get(stage& at) {
    at.take(at.place->try_get());
}
void select_one(stage& at) {
    auto now = sync_wait(select(at.place->get(), at.never.receive(), 100us, at.stop->get_token()));
    if (now.index() == 0) {
        at.take(std::move(now).template get<0>());
    }
}
void get_nothing(stage& /*at*/) {}

bare_coroutine wait_bare(stage& at) {
    auto now = co_await at.place->get(at.stop->get_token());
    at.take(std::move(now));
}
bare_coroutine select_bare(stage& at) {
    auto now = co_await select(at.place->get(), at.never.receive(), at.stop->get_token());
    if (now.index() == 0) {
        at.take(std::move(now).template get<0>());
    }
}

/// What the owner of the future does, before it destroys it.
struct way {
    const char* name;
    void (*act)(stage& at);
    /// Waits meanwhile.
    bare_coroutine (*wait)(stage& at) = nullptr;
};
void PrintTo(const way& of, std::ostream* to) { // NOLINT(readability-identifier-naming)
    *to << of.name;
}
class FutureStress : public testing::TestWithParam<way> {};
INSTANTIATE_TEST_SUITE_P(Owner, FutureStress,
                         testing::Values(way{"gets", get}, way{"gets_twice", get_twice},
                                         way{"tries", try_to_get}, way{"selects", select_one},
                                         way{"does_nothing", get_nothing},
                                         way{"ends_a_wait", get_nothing, wait_bare},
                                         way{"ends_a_selection", get_nothing, select_bare}),
                         [](const auto& each) { return each.param.name; });

TEST_P(FutureStress, KeepsEachItemOnce) {
    constexpr long rounds = 1'000;
    census kept;
    stage at;
    std::array<long, 4> ends{};
    bool sent = false;
    bool returned = false;
    std::barrier<> together(3);
    std::jthread setter([&] {
        for (long round = 0; round != rounds; ++round) {
            together.arrive_and_wait();
            sent = returned = false;
            {
                promise<tracked> here = std::move(*at.by);
                at.by.reset();
                for (long i = 0; i != round % 3; ++i) {
                    promise<tracked> there(std::move(here));
                    here = std::move(there);
                }
                if (round % 5 != 0) {
                    auto set = here.set(tracked(kept, round));
                    sent = set.has_value();
                    returned = !sent && set.returned().id() == round;
                }
            }
            together.arrive_and_wait();
        }
    });
    std::jthread stopper([&] {
        for (long round = 0; round != rounds; ++round) {
            together.arrive_and_wait();
            if (round % 2 != 0) {
                at.stop->request_stop();
            }
            together.arrive_and_wait();
        }
    });
    for (long round = 0; round != rounds; ++round) {
        at.place.emplace();
        at.by.emplace(at.place->get_promise());
        at.stop.emplace();
        at.got.reset();
        {
            std::optional<bare_coroutine> waits;
            if (GetParam().wait != nullptr) {
                waits.emplace(GetParam().wait(at));
            }
            together.arrive_and_wait();
            GetParam().act(at);
            at.place.reset();
            together.arrive_and_wait();
            EXPECT_TRUE(!waits || waits->done());
        }
        EXPECT_TRUE(round % 5 == 0 || sent != returned);
        EXPECT_TRUE(!at.has_got() || (sent && at.got->value().id() == round));
        ++ends.at((sent ? 1U : 0U) + (at.has_got() ? 2U : 0U));
        at.got.reset();
        EXPECT_EQ(kept.alive.load(std::memory_order_acquire), 0);
    }
    RecordProperty("failed", std::to_string(ends[0]));
    RecordProperty("not_taken", std::to_string(ends[1]));
    RecordProperty("taken", std::to_string(ends[3]));
}

} // namespace
} // namespace tryst::test
