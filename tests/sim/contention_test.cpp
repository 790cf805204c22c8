// SPDX-License-Identifier: MIT
// What bounds throughput on many processors, counted: the same on every machine.
#include "sim/contention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tryst::sim {
namespace {

constexpr std::size_t most = 64;

const contention& at(std::string_view kind, std::string_view design, std::size_t parties) {
    static const std::vector<contention> all = count_contention(most);
    return *std::ranges::find_if(all, [&](const contention& each) {
        return each.kind == kind && each.design == design && each.parties == parties;
    });
}

double hottest(std::string_view kind, std::string_view design, std::size_t parties) {
    return at(kind, design, parties).hottest;
}

TEST(SimContention, IsSeenInOneSlot) {
    for (const std::string_view kind : {"loops", "threads"}) {
        EXPECT_GT(hottest(kind, "one slot", most), 3 * hottest(kind, "one slot", 2)) << kind;
    }
}

TEST(SimContention, LoopsPairTheirPartiesInTheirOwnSlots) {
    for (const std::string_view design : {"arena", "counted", "lifo"}) {
        for (std::size_t parties = 2; parties <= most; parties *= 2) {
            EXPECT_LT(at("loops", design, parties).all, 1) << design << ' ' << parties;
        }
    }
}

TEST(SimContention, ThreadsSpreadOverTheArena) {
    for (const std::string_view design : {"arena", "counted", "lifo"}) {
        for (const std::size_t parties : {std::size_t{16}, most}) {
            EXPECT_LT(5 * hottest("threads", design, parties),
                      hottest("threads", "one slot", parties))
                << design << ' ' << parties;
        }
    }
}

TEST(SimContention, NoFormIsHotterThanAMutex) {
    for (const std::string_view kind : {"loops", "threads"}) {
        for (const std::string_view design : {"arena", "counted", "fifo", "lifo"}) {
            for (std::size_t parties = 4; parties <= most; parties *= 2) {
                EXPECT_LT(hottest(kind, design, parties), hottest(kind, "a mutex", parties))
                    << kind << ' ' << design << ' ' << parties;
            }
        }
    }
}

TEST(SimContention, StrictOrderMovesItsCursorsHardlyMoreThanABareCounter) {
    for (std::size_t parties = 2; parties <= most; parties *= 2) {
        EXPECT_LT(hottest("loops", "fifo", parties),
                  1.2 * hottest("loops", "a fetch-and-add", parties))
            << parties;
    }
}

TEST(SimContention, SelectionsMoveASlotHardlyMoreThanExchangesDo) {
    for (const std::string_view kind : {"loops", "threads"}) {
        for (std::size_t parties = 2; parties <= most; parties *= 2) {
            EXPECT_LT(hottest(kind, "select", parties), 1.5 * hottest(kind, "one slot", parties))
                << kind << ' ' << parties;
        }
    }
}

TEST(SimContention, CountersMoveFewLines) {
    for (std::size_t parties = 2; parties <= most; parties *= 2) {
        EXPECT_LT(at("threads", "counted", parties).all, at("threads", "arena", parties).all + 6)
            << parties;
    }
}

} // namespace
} // namespace tryst::sim
