// SPDX-License-Identifier: MIT
/// @file
/// Completion handlers that store their arguments for the test.
#pragma once

#include "adapters/asio/net.hpp"
#include "support/tracked.hpp"

#include <tryst/result.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace tryst::test {

/// The result that a handler was given; empty until it is called.
template <class T, class Own = T>
using completed = std::optional<exchange_result<T, Own>>;

template <class Result>
auto keep_in(std::optional<Result>& got) {
    return [&got](Result result) {
        EXPECT_FALSE(got) << "a handler was called twice";
        got.emplace(std::move(result));
    };
}

/// As above, on `executor`, which may be a context.
template <class Executor, class Result>
auto keep_on(Executor& executor, std::optional<Result>& got) {
    return net::bind_executor(executor, keep_in(got));
}

inline long value_of(long item) {
    return item;
}
inline long value_of(const tracked& item) {
    return item.id();
}

template <class T, class Own>
void expect_got(const completed<T, Own>& got, long item) {
    ASSERT_TRUE(got) << "not complete";
    ASSERT_TRUE(*got) << got->error().message();
    EXPECT_EQ(value_of(**got), item);
}

template <class T, class Own>
void expect_failed(const completed<T, Own>& got, exchange_errc why, long own) {
    ASSERT_TRUE(got) << "not complete, or the item was lost";
    ASSERT_FALSE(*got);
    EXPECT_EQ(got->error(), make_error_code(why));
    EXPECT_EQ(value_of(got->returned()), own);
}

/// A handler that must not be called, because its context ends first. Counted like an item.
class mourned {
public:
    explicit mourned(census& kept) noexcept : life_(kept, 0) {}
    template <class... Results>
    void operator()(Results&&... /*results*/) const {
        ADD_FAILURE() << "a handler was called while its context was being destroyed";
    }

private:
    tracked life_;
};

/// Runs all ready handlers, even after the context has run out of work.
inline void step(net::io_context& io) {
    io.restart();
    io.poll();
}

} // namespace tryst::test
