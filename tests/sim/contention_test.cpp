// SPDX-License-Identifier: MIT
// What bounds throughput on many processors, counted: the same on every machine.
#include "sim/contention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>

namespace tryst::sim {
namespace {

constexpr std::size_t most = 64;
using names = std::initializer_list<std::string_view>;

const contention& at(std::string_view kind, std::string_view design, std::size_t parties) {
    static const std::vector<contention> all = count_contention(most);
    return *std::ranges::find_if(all, [&](const contention& each) {
        return each.kind == kind && each.design == design && each.parties == parties;
    });
}

double hottest(std::string_view kind, std::string_view design, std::size_t parties) {
    return at(kind, design, parties).hottest;
}

/// Calls `test(kind, design, parties)` for all of these, with at least so many parties.
template <class Test>
void for_each(names kinds, names designs, std::size_t least, Test test) {
    for (const std::string_view kind : kinds) {
        for (const std::string_view design : designs) {
            for (std::size_t parties = least; parties <= most; parties *= 2) {
                SCOPED_TRACE(testing::Message() << kind << ' ' << design << ' ' << parties);
                test(kind, design, parties);
            }
        }
    }
}

TEST(SimContention, IsSeenInOneSlot) {
    for (const std::string_view kind : {"loops", "threads"}) {
        EXPECT_GT(hottest(kind, "one slot", most), 3 * hottest(kind, "one slot", 2)) << kind;
    }
}

TEST(SimContention, LoopsPairTheirPartiesInTheirOwnSlots) {
    for_each({"loops"}, {"arena", "counted", "lifo"}, 2,
             [](auto... which) { EXPECT_LT(at(which...).all, 1); });
}

TEST(SimContention, ThreadsSpreadOverTheArena) {
    for_each({"threads"}, {"arena", "counted", "lifo"}, 16, [](auto kind, auto design, auto n) {
        EXPECT_LT(5 * hottest(kind, design, n), hottest(kind, "one slot", n));
    });
}

TEST(SimContention, NoFormIsHotterThanAMutex) {
    for_each({"loops", "threads"}, {"arena", "counted", "fifo", "lifo"}, 4,
             [](auto kind, auto design, auto n) {
                 EXPECT_LT(hottest(kind, design, n), hottest(kind, "a mutex", n));
             });
}

TEST(SimContention, ABufferIsCoolerThanAMutexOnUpTo16Processors) {
    for_each({"loops", "threads"}, {"buffered"}, 2, [](auto kind, auto design, auto n) {
        if (n <= 16) {
            EXPECT_LT(hottest(kind, design, n), hottest(kind, "a mutex", n));
        }
    });
}

TEST(SimContention, StrictOrderMovesItsCursorsHardlyMoreThanABareCounter) {
    for_each({"loops"}, {"fifo"}, 2, [](auto kind, auto design, auto n) {
        EXPECT_LT(hottest(kind, design, n), 1.2 * hottest(kind, "a fetch-and-add", n));
    });
}

TEST(SimContention, SelectionsMoveASlotHardlyMoreThanExchangesDo) {
    for_each({"loops", "threads"}, {"select"}, 2, [](auto kind, auto design, auto n) {
        EXPECT_LT(hottest(kind, design, n), 1.5 * hottest(kind, "one slot", n));
    });
}

TEST(SimContention, CountersMoveFewLines) {
    for_each({"threads"}, {"counted"}, 2, [](auto kind, auto design, auto n) {
        EXPECT_LT(at(kind, design, n).all, at(kind, "arena", n).all + 6);
    });
}

} // namespace
} // namespace tryst::sim
