// SPDX-License-Identifier: MIT
/// @file
/// The books of a stress test: what each operation gave, got or got back.
#pragma once

#include "support/tracked.hpp"

#include <tryst/result.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <unordered_map>
#include <vector>

namespace tryst::test {

/// The entries of one participant. Ids of items are unique over all participants of a ledger.
class page {
public:
    page(census& kept, long participant) noexcept : census_(&kept), next_(participant << 32) {}

    tracked item() noexcept { return {*census_, next_++}; }

    /// Enters the outcome of the operation that gave `mine`.
    /// @returns whether the exchanger is open.
    bool enter(long mine, const exchange_result<tracked>& got) {
        if (got) {
            received_.emplace_back(mine, got->id());
        } else {
            EXPECT_EQ(got.returned().id(), mine) << "a failure returns the own item";
            ++failures_.at(static_cast<std::size_t>(got.error().value()));
        }
        return got.error() != exchange_errc::closed;
    }

private:
    friend class ledger;

    census* census_;
    long next_;
    std::vector<std::pair<long, long>> received_; // (given, got)
    std::array<long, 5> failures_{}; // by exchange_errc
};

/// All pages. `check` after everybody has finished.
class ledger {
public:
    explicit ledger(std::size_t participants) {
        for (std::size_t i = 0; i != participants; ++i) {
            pages_.emplace_back(census_, static_cast<long>(i) + 1);
        }
    }

    page& operator[](std::size_t participant) { return pages_.at(participant); }

    /// Conservation: exchanges are mutual, nothing is received twice or by its giver, and every item
    /// has died.
    void check() {
        std::unordered_map<long, long> got;
        for (const page& each : pages_) {
            for (const auto& [mine, theirs] : each.received_) {
                EXPECT_NE(mine, theirs) << "an item came back as a success";
                EXPECT_TRUE(got.emplace(mine, theirs).second) << "an item was given twice";
            }
            for (std::size_t i = 0; i != failures_.size(); ++i) {
                failures_.at(i) += each.failures_.at(i);
            }
        }
        for (const auto& [mine, theirs] : got) {
            const auto partner = got.find(theirs);
            ASSERT_NE(partner, got.end()) << "an item was received that nobody gave";
            ASSERT_EQ(partner->second, mine) << "an exchange was one-sided";
        }
        exchanges_ += static_cast<long>(got.size()) / 2;
        EXPECT_EQ(census_.alive.load(), 0) << "items leaked, or died twice";
        pages_.clear();
    }

    long exchanges() const noexcept { return exchanges_; }
    long failures(exchange_errc why) const noexcept {
        return failures_.at(static_cast<std::size_t>(why));
    }

private:
    census census_;
    std::vector<page> pages_;
    std::array<long, 5> failures_{};
    long exchanges_ = 0;
};

} // namespace tryst::test
