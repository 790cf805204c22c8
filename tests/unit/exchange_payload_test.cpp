// SPDX-License-Identifier: MIT
// What may be exchanged.
#include <tryst/exchanger.hpp>

#include "support/parties.hpp"

#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::test::bare_party;
using tryst::test::party;
using tryst::test::received;

/// What `make` makes of 1 and 2, exchanged by each kind of waiter, tells `value` the other's number.
template <class T, class Make, class Value>
void expect_exchangeable(Make make, Value value) {
    tryst::exchanger<T> ex;
    {
        tryst::run_loop loop;
        received<T> first;
        received<T> second;
        loop.spawn(party(first, [&] { return ex.exchange(make(1)); }));
        loop.spawn(party(second, [&] { return ex.exchange_for(make(2), 1h); }));
        loop.run_until_idle();
        ASSERT_TRUE(first && *first);
        ASSERT_TRUE(second && *second);
        EXPECT_EQ(value(**first), 2);
        EXPECT_EQ(value(**second), 1);
    }
    {
        std::stop_source stop;
        received<T> first;
        const auto waiter =
            bare_party(first, [&] { return ex.exchange(make(1), stop.get_token()); });
        auto second = tryst::sync_wait(ex.exchange(make(2)));
        ASSERT_TRUE(first && *first);
        ASSERT_TRUE(second);
        EXPECT_EQ(value(**first), 2);
        EXPECT_EQ(value(*second), 1);
    }
    {
        std::thread other([&] {
            auto got = tryst::sync_wait(ex.exchange(make(1)));
            EXPECT_EQ(value(*got), 2);
        });
        auto got = tryst::sync_wait(ex.exchange_for(make(2), 1h));
        EXPECT_EQ(value(*got), 1);
        other.join();
    }
    auto failed = ex.try_exchange(make(3));
    ASSERT_FALSE(failed);
    EXPECT_EQ(value(failed.returned()), 3);
    auto expired = tryst::sync_wait(ex.exchange_for(make(4), 0s));
    ASSERT_FALSE(expired);
    EXPECT_EQ(value(expired.returned()), 4);
    ex.close();
    auto refused = tryst::sync_wait(ex.exchange(make(5)));
    ASSERT_FALSE(refused);
    EXPECT_EQ(value(refused.returned()), 5);
}

TEST(ExchangePayload, MayBeMoveOnly) {
    expect_exchangeable<std::unique_ptr<int>>([](int n) { return std::make_unique<int>(n); },
                                              [](const std::unique_ptr<int>& p) { return *p; });
}

TEST(ExchangePayload, MayBeACopyableStandardType) {
    expect_exchangeable<std::string>([](int n) { return std::string(100, static_cast<char>(n)); },
                                     [](const std::string& s) { return s.back(); });
}

struct no_default {
    explicit no_default(int n) : number(n) {}
    int number;
};

TEST(ExchangePayload, NeedsNoDefaultConstructor) {
    expect_exchangeable<no_default>([](int n) { return no_default(n); },
                                    [](const no_default& x) { return x.number; });
}

struct no_assignment {
    explicit no_assignment(int n) : number(n) {}
    no_assignment(no_assignment&&) = default;
    no_assignment& operator=(no_assignment&&) = delete;
    ~no_assignment() = default;
    const int number;
};

TEST(ExchangePayload, NeedsNoAssignment) {
    expect_exchangeable<no_assignment>([](int n) { return no_assignment(n); },
                                       [](const no_assignment& x) { return x.number; });
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
    explicit big(int n) { bytes.fill(static_cast<unsigned char>(n)); }
    std::array<unsigned char, 4096> bytes{};
};

TEST(ExchangePayload, MayBeBig) {
    expect_exchangeable<big>([](int n) { return big(n); },
                             [](const big& x) {
                                 for (const unsigned char byte : x.bytes) {
                                     if (byte != x.bytes[0]) {
                                         return -1;
                                     }
                                 }
                                 return static_cast<int>(x.bytes[0]);
                             });
}

template <std::size_t Alignment>
struct alignas(Alignment) aligned {
    explicit aligned(int n) : number(n) { check(); }
    aligned(aligned&& other) noexcept : number(other.number) { check(); }
    aligned& operator=(aligned&&) = delete;
    ~aligned() { check(); }

    void check() const {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this) % Alignment, 0U);
        ++checks;
    }

    int number;
    static inline std::atomic<int> checks{0};
};

TEST(ExchangePayload, MayBeOverAligned) {
    expect_exchangeable<aligned<64>>([](int n) { return aligned<64>(n); },
                                     [](const aligned<64>& x) { return x.check(), x.number; });
    expect_exchangeable<aligned<32>>([](int n) { return aligned<32>(n); },
                                     [](const aligned<32>& x) { return x.check(), x.number; });
    expect_exchangeable<aligned<4096>>([](int n) { return aligned<4096>(n); },
                                       [](const aligned<4096>& x) { return x.check(), x.number; });
    EXPECT_GT(aligned<64>::checks, 0);
}

/// Keeps the result in its own frame, which compilers align for no more than `operator new` does.
template <class Make>
tryst::task<> check_within_frame(Make make, int offset, int& received) {
    std::array<std::byte, 16> shift{};
    shift.at(static_cast<std::size_t>(offset)) = std::byte{1};
    auto got = co_await make();
    const volatile std::byte* const kept = shift.data();
    static_cast<void>(kept[0]);
    (*got).check();
    auto moved = std::move(got);
    (*moved).check();
    received = (*moved).number;
}

TEST(ExchangePayload, IsAlignedInResultsThatLiveInFrames) {
    for (int offset = 0; offset != 16; ++offset) {
        tryst::exchanger<aligned<64>> ex;
        tryst::run_loop loop;
        std::vector<std::unique_ptr<std::byte[]>> unevenness;
        int first = 0;
        int second = 0;
        loop.spawn(check_within_frame([&] { return ex.exchange(aligned<64>(1)); }, offset, first));
        unevenness.push_back(std::make_unique<std::byte[]>(static_cast<std::size_t>(offset) * 16));
        loop.spawn(check_within_frame([&] { return ex.exchange(aligned<64>(2)); }, offset, second));
        loop.run_until_idle();
        EXPECT_EQ(first, 2);
        EXPECT_EQ(second, 1);
    }
}

struct nothing {};

TEST(ExchangePayload, MayBeEmpty) {
    tryst::exchanger<nothing> ex;
    tryst::run_loop loop;
    received<nothing> first;
    received<nothing> second;
    loop.spawn(party(first, [&] { return ex.exchange({}); }));
    loop.spawn(party(second, [&] { return ex.exchange({}); }));
    loop.run_until_idle();
    EXPECT_TRUE(first && *first);
    EXPECT_TRUE(second && *second);
    EXPECT_FALSE(ex.try_exchange({}));
}

TEST(ExchangePayload, MayBeAPointerToAnything) {
    tryst::exchanger<const char*> ex;
    received<const char*> first;
    const auto waiter = bare_party(first, [&] { return ex.exchange("full"); });
    EXPECT_STREQ(*ex.try_exchange("empty"), "full");
    EXPECT_STREQ(**first, "empty");
}

TEST(ExchangePayload, IsCopiedFromAnLvalueWhichStays) {
    tryst::exchanger<std::string> ex;
    std::string mine = "a string too long to be kept in the object itself";
    const std::string before = mine;
    received<std::string> waiting;
    const auto waiter = bare_party(waiting, [&] { return ex.exchange(mine); });
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
    received<counted> waiting;
    const auto waiter = bare_party(waiting, [&] { return ex.exchange(counted(1)); });
    const auto got = ex.try_exchange(counted(2));
    EXPECT_LE(got->moves, 5);
    EXPECT_LE((*waiting)->moves, 5);
}

} // namespace
