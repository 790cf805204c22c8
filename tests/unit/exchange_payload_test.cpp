// SPDX-License-Identifier: MIT
// What may be exchanged.
#include <tryst/exchanger.hpp>

#include "support/started.hpp"

#include <tryst/sync_wait.hpp>
#include <tryst/when_all.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::test::parties;
using tryst::test::start_bare;

/// An item that `make` makes of 1 crosses to a partner that brings 2, and back, in each way that an
/// item can take: into a frame and out of it, between two frames, and home after a failure. `value`
/// tells the number of an item.
template <class T, class Make, class Value>
void expect_exchangeable(Make make, Value value) {
    tryst::exchanger<T> ex;
    {
        parties start;
        const auto first = start([&] { return ex.exchange(make(1)); });
        const auto second = start([&] { return ex.exchange(make(2), 1h); });
        ASSERT_TRUE(first.ok() && second.ok());
        EXPECT_EQ(value(**first), 2);
        EXPECT_EQ(value(**second), 1);
    }
    {
        std::stop_source stop;
        const auto first = start_bare([&] { return ex.exchange(make(1), stop.get_token()); });
        auto second = tryst::sync_wait(ex.exchange(make(2)));
        ASSERT_TRUE(first.ok() && second);
        EXPECT_EQ(value(**first), 2);
        EXPECT_EQ(value(*second), 1);
    }
    auto refused = ex.try_exchange(make(3));
    ASSERT_FALSE(refused);
    EXPECT_EQ(value(refused.returned()), 3);
    auto expired = tryst::sync_wait(ex.exchange(make(4), 0s));
    ASSERT_FALSE(expired);
    EXPECT_EQ(value(expired.returned()), 4);
}

/// The same for items that are made of a number and have it as a member.
template <class T>
void expect_numbers_exchangeable() {
    expect_exchangeable<T>([](int n) { return T(n); }, [](const T& x) { return x.number; });
}

TEST(ExchangePayload, MayBeMoveOnlyOrCopyable) {
    expect_exchangeable<std::unique_ptr<int>>([](int n) { return std::make_unique<int>(n); },
                                              [](const std::unique_ptr<int>& p) { return *p; });
    expect_exchangeable<std::string>([](int n) { return std::string(100, static_cast<char>(n)); },
                                     [](const std::string& s) { return s.back(); });
}

struct no_default {
    explicit no_default(int n) : number(n) {}
    int number;
};

TEST(ExchangePayload, NeedsNoDefaultConstructor) {
    expect_numbers_exchangeable<no_default>();
}

struct no_assignment {
    explicit no_assignment(int n) : number(n) {}
    no_assignment(no_assignment&&) = default;
    no_assignment& operator=(no_assignment&&) = delete;
    ~no_assignment() = default;
    const int number;
};

TEST(ExchangePayload, NeedsNoAssignment) {
    expect_numbers_exchangeable<no_assignment>();
}

struct refers {
    explicit refers(int& n) : number(n) {}
    int& number;
};

TEST(ExchangePayload, MayHoldReferences) {
    std::array<int, 6> numbers{0, 1, 2, 3, 4, 5};
    expect_exchangeable<refers>([&](int n) { return refers(numbers.at(static_cast<unsigned>(n))); },
                                [](const refers& x) { return x.number; });
}

struct big {
    explicit big(int n) { numbers.fill(n); }
    std::array<int, 1024> numbers{};
};

TEST(ExchangePayload, MayBeBig) {
    expect_exchangeable<big>([](int n) { return big(n); },
                             [](const big& x) {
                                 const int first = x.numbers[0];
                                 return std::ranges::count(x.numbers, first) == 1024 ? first : -1;
                             });
}

struct alignas(__STDCPP_DEFAULT_NEW_ALIGNMENT__) aligned {
    explicit aligned(int n) : number(n) { check(); }
    aligned(aligned&& other) noexcept : number(other.number) { check(); }
    aligned& operator=(aligned&&) = delete;
    ~aligned() { check(); }

    void check() const { EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this) % alignof(aligned), 0U); }

    int number;
};

// Items that are aligned more strictly are refused (tests/compile_fail), and live in boxes.
TEST(ExchangePayload, IsAlignedInFramesAsByOperatorNew) {
    expect_numbers_exchangeable<aligned>();
}

struct greedy {
    explicit greedy(int n) : number(n) {}
    greedy(greedy&&) noexcept = default;
    greedy& operator=(greedy&&) noexcept = default;
    ~greedy() = default;
    void operator&() const = delete;
    int number;
};

TEST(ExchangePayload, MayForbidItsAddressToBeTaken) {
    expect_numbers_exchangeable<greedy>();
    const int both = tryst::sync_wait([]() -> tryst::task<int> {
        const auto make = [](int n) -> tryst::task<greedy> { co_return greedy(n); };
        auto [a, b] = co_await tryst::when_all(make(1), make(2));
        co_return a.number + b.number;
    }());
    EXPECT_EQ(both, 3);
}

struct nothing {};

TEST(ExchangePayload, MayBeEmpty) {
    tryst::exchanger<nothing> ex;
    const auto first = start_bare([&] { return ex.exchange({}); });
    EXPECT_TRUE(ex.try_exchange({}));
    EXPECT_TRUE(first.ok());
}

TEST(ExchangePayload, MayBeAPointerToAnything) {
    tryst::exchanger<const char*> ex;
    const auto first = start_bare([&] { return ex.exchange("full"); });
    EXPECT_STREQ(*ex.try_exchange("empty"), "full");
    EXPECT_STREQ(**first, "empty");
}

TEST(ExchangePayload, IsCopiedFromAnLvalueWhichStays) {
    tryst::exchanger<std::string> ex;
    std::string mine = "a string too long to be kept in the object itself";
    const std::string before = mine;
    const auto waiting = start_bare([&] { return ex.exchange(mine); });
    EXPECT_EQ(mine, before);
    EXPECT_EQ(*ex.try_exchange("theirs"), before);
    EXPECT_EQ(mine, before);
    EXPECT_EQ(**waiting, "theirs");
}

/// A move constructor that leaves the source unusable, as it may.
class fragile {
public:
    explicit fragile(int n) : self_(this), number_(n) {}
    fragile(fragile&& other) noexcept : self_(this), number_(other.take()) {}
    fragile& operator=(fragile&&) = delete;
    ~fragile() { EXPECT_EQ(self_, this); }

    int number() const { return number_; }

private:
    int take() noexcept {
        EXPECT_EQ(self_, this);
        return std::exchange(number_, -1);
    }

    fragile* self_;
    int number_;
};

TEST(ExchangePayload, IsMovedByItsConstructorNeverByItsBytes) {
    expect_exchangeable<fragile>([](int n) { return fragile(n); },
                                 [](const fragile& x) { return x.number(); });
}

/// The exchange moves each item a bounded number of times.
struct counted {
    explicit counted(int n) : number(n) {}
    counted(counted&& other) noexcept : number(other.number), moves(other.moves + 1) {}
    counted& operator=(counted&&) = delete;
    ~counted() = default;
    int number;
    int moves = 0;
};

TEST(ExchangePayload, IsMovedAFewTimesFromHandToHand) {
    tryst::exchanger<counted> ex;
    const auto waiting = start_bare([&] { return ex.exchange(counted(1)); });
    const auto got = ex.try_exchange(counted(2));
    EXPECT_LE(got->moves, 5);
    EXPECT_LE((*waiting)->moves, 5);
}

} // namespace
