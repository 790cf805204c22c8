// SPDX-License-Identifier: MIT
// Loops that carry an item of two words from one `co_await` to the next. g++ 12 miscompiles them
// with -O2 and -O3 (docs/compilers.md), except with the option that tryst::tryst adds.
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <array>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <utility>

namespace tryst::test {
namespace {

struct pool {
    std::size_t step = 1;
};

int released = 0;
[[gnu::noinline]] void release(pool* /*from*/, std::byte* /*first*/) {
    ++released;
}

/// Owns a buffer of a pool, or none.
class lease {
public:
    lease(pool& from, std::byte& first) noexcept : pool_(&from), first_(&first) {}
    lease(lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), first_(std::exchange(other.first_, nullptr)) {
    }
    lease& operator=(lease&& other) noexcept {
        reset();
        pool_ = std::exchange(other.pool_, nullptr);
        first_ = std::exchange(other.first_, nullptr);
        return *this;
    }
    ~lease() { reset(); }

    pool* from() const noexcept { return pool_; }
    std::byte* first() const noexcept { return first_; }
    std::size_t step() const noexcept { return pool_ == nullptr ? 0 : pool_->step; }

private:
    void reset() noexcept {
        if (first_ != nullptr) {
            release(std::exchange(pool_, nullptr), std::exchange(first_, nullptr));
        }
    }

    pool* pool_;
    std::byte* first_;
};

std::array<pool, 2> pools;
std::array<std::byte, 2> bytes;

/// Ends the program at once, because an item that points anywhere must not be used.
[[noreturn, gnu::noinline]] void fail(pool* from, std::byte* first) {
    std::fprintf(stderr, "an item points to %p and %p\n", static_cast<void*>(from),
                 static_cast<void*>(first));
    std::abort();
}

/// Checks that `item` points to what one of the test's two items may point to.
void check(const lease& item) {
    if ((item.from() != &pools[0] && item.from() != &pools[1]) ||
        (item.first() != &bytes[0] && item.first() != &bytes[1])) {
        fail(item.from(), item.first());
    }
}

constexpr std::size_t rounds = 10;

class meeting {
public:
    task<lease> swap(lease mine) {
        auto theirs = co_await exchanger_.exchange(std::move(mine));
        co_return std::move(*theirs);
    }

private:
    exchanger<lease> exchanger_;
};

/// Two coroutines swap two items, each by the shape `f(meeting, item)`.
template <class Shape>
void expect_sound(Shape shape) {
    released = 0;
    {
        meeting at;
        run_loop loop;
        loop.spawn(shape(at, lease(pools[0], bytes[0])));
        loop.spawn(shape(at, lease(pools[1], bytes[1])));
        loop.run_until_idle();
    }
    EXPECT_EQ(released, 2);
}

task<> count_by_the_item(meeting& at, lease first) {
    lease mine(std::move(first));
    for (std::size_t i = 0; i < rounds; i += mine.step()) {
        auto got = co_await at.swap(std::move(mine));
        check(got);
        mine = std::move(got);
    }
    check(mine);
}

TEST(LoopShape, CarriesAnItemThatItCountsBy) {
    expect_sound(count_by_the_item);
}

task<std::size_t> step_of(pool& from) {
    co_return from.step;
}

task<> wait_twice(meeting& at, lease first) {
    lease mine(std::move(first));
    std::size_t done = 0;
    while (true) {
        auto got = co_await at.swap(std::move(mine));
        check(got);
        mine = std::move(got);
        if (done == rounds) {
            break;
        }
        done += co_await step_of(*mine.from());
    }
    check(mine);
}

TEST(LoopShape, CarriesAnItemAcrossASecondTask) {
    expect_sound(wait_twice);
}

[[gnu::noinline]] int increment(int number) {
    if (number == INT_MAX) {
        throw std::overflow_error("increment");
    }
    return number + 1;
}

task<> count_exchanges(exchanger<std::shared_ptr<int>>& at, std::shared_ptr<int> first) {
    std::shared_ptr<int> mine = std::move(first);
    int count = 0;
    while (count != *mine) {
        auto theirs = co_await at.exchange(std::move(mine));
        count = increment(count);
        mine = *std::move(theirs);
    }
}

TEST(LoopShape, CarriesASharedItemThroughExchanges) {
    exchanger<std::shared_ptr<int>> at;
    const auto item = std::make_shared<int>(10);
    run_loop loop;
    loop.spawn(count_exchanges(at, item));
    loop.spawn(count_exchanges(at, item));
    loop.run_until_idle();
    EXPECT_EQ(item.use_count(), 1);
}

} // namespace
} // namespace tryst::test
