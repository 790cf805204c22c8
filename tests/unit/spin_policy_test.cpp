// SPDX-License-Identifier: MIT
#include <tryst/detail/run/spin_policy.hpp>

#include "support/simulated_loops.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace {

using tryst::detail::partners_seen;
using tryst::detail::spin_policy;
using tryst::test::placement;
using tryst::test::simulated_loops;
using ns = std::int64_t; // ns

constexpr unsigned limit = 2'000;
constexpr unsigned least = 16;
constexpr ns run_time = 100'000'000;

// ---- The rules. Each begins with a loop whose polls were in vain for long.

template <class Rule>
Rule after_long_sleeps() {
    Rule rule;
    for (int i = 0; i != 10; ++i) {
        rule.begin({});
        rule.in_vain();
        rule.slept(10'000'000);
    }
    return rule;
}

struct current : spin_policy {
    current() : spin_policy(limit) {}
    void slept(ns) {}
};

/// Learns only from the waits in which polling has helped.
struct halving {
    unsigned bound = limit;
    unsigned begin(partners_seen) { return bound; }
    void found(unsigned polls) { bound = std::max(bound, std::min(2 * polls + least, limit)); }
    void in_vain() { bound = std::max(bound / 2, least); }
    void slept(ns) {}
};

struct for_ever {
    unsigned begin(partners_seen) { return limit; }
    void found(unsigned) {}
    void in_vain() {}
    void slept(ns) {}
};

// ---- The scenes.

struct scene {
    placement where;
    std::size_t pairs;
    ns work = 0; ///< For each answer.
    ns disturbance = 0;
};

template <class Rule>
simulated_loops<Rule> make_pairs(const scene& how) {
    simulated_loops<Rule> loops(how.where);
    for (std::size_t i = 0; i != how.pairs; ++i) {
        loops.add(after_long_sleeps<Rule>(), 2 * i + 1, how.work);
        loops.add(after_long_sleeps<Rule>(), 2 * i, how.work);
        loops.post(2 * i);
    }
    if (how.disturbance != 0) {
        loops.disturb(how.disturbance);
    }
    return loops;
}

/// The time of one answer, in ns.
template <class Rule>
double time_of_answer(const scene& how) {
    auto loops = make_pairs<Rule>(how);
    loops.run(run_time);
    return static_cast<double>(run_time) / static_cast<double>(loops.total().turns);
}

/// The share of a processor that a loop uses for a message in each interval. It answers none.
template <class Rule>
double share_for_messages(ns interval) {
    simulated_loops<Rule> loops(placement::pinned);
    loops.add(after_long_sleeps<Rule>(), std::nullopt);
    loops.post_each(interval, 0);
    loops.run(run_time);
    EXPECT_GT(loops.of(0).turns, run_time / interval / 3); // a turn may take two
    return static_cast<double>(loops.of(0).used) / run_time;
}

constexpr ns us = 1'000;
constexpr ns ms = 1'000 * us;

/// One loop of a pair, which a test plays: each wait by hand.
struct played : current {
    unsigned polls = 0;

    /// A wait that needs so many polls. @returns whether polling was enough.
    bool wait(partners_seen seen, unsigned needed) {
        polls = begin(seen);
        polls > needed ? found(needed) : in_vain();
        return polls > needed;
    }
};

constexpr partners_seen running{.running = true};
constexpr partners_seen sleeping{.sleeping = true};
constexpr unsigned never = limit;
constexpr unsigned a_wake_up = 1'500;
constexpr unsigned prompt = 20;

} // namespace

TEST(SpinPolicy, EndsTheStateInWhichTwoLoopsWakeEachOther) {
    for (const placement where : {placement::pinned, placement::free}) {
        for (const std::size_t pairs : {1U, 2U, 4U}) {
            auto loops = make_pairs<current>({where, pairs});
            loops.run(run_time, 20 * pairs);
            const auto sleeps = loops.total().sleeps;
            loops.run(run_time, 10'000 * pairs);
            EXPECT_LE(loops.total().sleeps, sleeps + 4 * pairs) << pairs << " pairs";
        }
    }
}

TEST(SpinPolicy, IsOftenAsFastAsSpinningForEver) {
    for (const placement where : {placement::pinned, placement::free}) {
        for (const std::size_t pairs : {1U, 2U, 4U}) {
            EXPECT_LE(time_of_answer<current>({where, pairs}),
                      1.1 * time_of_answer<for_ever>({where, pairs}));
        }
    }
    const scene disturbed{placement::pinned, 1, 5 * us, 5 * ms};
    EXPECT_LE(time_of_answer<current>(disturbed), 1.1 * time_of_answer<for_ever>(disturbed));
}

TEST(SpinPolicy, CostsLittleIfTheLoopsShareAProcessor) {
    for (const std::size_t pairs : {1U, 2U}) {
        const scene shared{placement::shared, pairs};
        EXPECT_LE(time_of_answer<current>(shared), 1.05 * time_of_answer<halving>(shared));
        EXPECT_GE(time_of_answer<for_ever>(shared), 5 * time_of_answer<halving>(shared));
    }
}

TEST(SpinPolicy, CostsNothingIfTheAnswersAreSlow) {
    const scene slow{placement::pinned, 1, 150 * us};
    EXPECT_LE(time_of_answer<current>(slow), 1.01 * time_of_answer<halving>(slow));
    auto loops = make_pairs<current>(slow);
    auto reference = make_pairs<halving>(slow);
    loops.run(run_time);
    reference.run(run_time);
    EXPECT_LE(loops.total().used, reference.total().used * 105 / 100);
}

TEST(SpinPolicy, PollsNoLongerThanBeforeForMessagesThatNobodyOwes) {
    for (const ns interval : {30 * us, 200 * us, 1 * ms}) {
        EXPECT_EQ(share_for_messages<current>(interval), share_for_messages<halving>(interval));
    }
    EXPECT_LT(share_for_messages<current>(1 * ms), 0.005);
}

TEST(SpinPolicy, LetsAnIdleLoopSleep) {
    simulated_loops<current> idle(placement::pinned);
    idle.add(after_long_sleeps<current>(), std::nullopt);
    idle.post(0);
    idle.run(run_time);
    EXPECT_EQ(idle.of(0).sleeps, 1);
    EXPECT_LT(idle.of(0).used, 10 * us);
}

TEST(SpinPolicy, HasASimulationThatShowsTheStateWithTheHalvingRule) {
    const scene pair{placement::pinned, 1};
    EXPECT_GE(time_of_answer<halving>(pair), 100 * time_of_answer<for_ever>(pair));
}

TEST(SpinPolicy, ProbesOnceItHasWokenItsPartner) {
    played loop{after_long_sleeps<played>()};
    EXPECT_FALSE(loop.wait({}, prompt));
    EXPECT_EQ(loop.polls, least);
    EXPECT_TRUE(loop.wait(sleeping, a_wake_up));
    EXPECT_TRUE(loop.wait(running, prompt));
    EXPECT_EQ(loop.polls, limit);
}

TEST(SpinPolicy, StopsProbingIfNoAnswerFollows) {
    played loop{after_long_sleeps<played>()};
    constexpr int waits = 10'000;
    int probes = 0;
    for (int i = 0; i != waits; ++i) {
        loop.wait(sleeping, i % 2 == 0 ? never : a_wake_up);
        probes += loop.polls == limit ? 1 : 0;
    }
    EXPECT_LE(probes, waits / 256 + 10);
    EXPECT_GE(probes, waits / 2 / 256);
}

TEST(SpinPolicy, PollsRarelyForAPartnerThatRunsButDoesNotAnswer) {
    played loop{after_long_sleeps<played>()};
    constexpr int waits = 10'000;
    int full = 0;
    for (int i = 0; i != waits; ++i) {
        loop.wait(running, never);
        full += loop.polls == limit ? 1 : 0;
    }
    EXPECT_LE(full, waits / 64 + 10);
}

TEST(SpinPolicy, MeetsTheProbesOfItsPartnerWheneverItsOwnHaveFailed) {
    played tired{after_long_sleeps<played>()};
    for (int i = 0; i != 1'000; ++i) {
        tired.wait(sleeping, never);
    }
    for (int phase = 0; phase != 256; ++phase) {
        // Two loops wake each other. Each has failed often, at different times.
        played one = tired;
        played other = tired;
        for (int i = 0; i != phase; ++i) {
            other.wait(sleeping, never);
        }
        bool converse = false;
        int exchanges = 0;
        for (; !converse && exchanges != 2'000; ++exchanges) {
            for (auto [from, to] : {std::pair(&one, &other), std::pair(&other, &one)}) {
                // If `from` probes, `to` is woken, and finds `from` running when it answers.
                if (from->wait(sleeping, a_wake_up) && to->wait(running, prompt)) {
                    converse = from->wait(running, prompt);
                    break;
                }
            }
        }
        EXPECT_LE(exchanges, 2 * 256) << "phase " << phase;
    }
}

TEST(SpinPolicy, NeverPollsWithoutALimit) {
    spin_policy rule(0);
    for (const partners_seen seen : {partners_seen(), running, sleeping}) {
        EXPECT_EQ(rule.begin(seen), 0);
        rule.in_vain();
    }
}
