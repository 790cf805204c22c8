// SPDX-License-Identifier: MIT
/// @file
/// Completion handlers that keep what they are called with, for the test to look at.
#pragma once

#include "adapters/asio/net.hpp"
#include "support/tracked.hpp"

#include <tryst/result.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace tryst::test {

/// What the handler of an exchange was called with; empty while it was not.
template <class T>
struct completion {
    error_code error;
    T item;
};
template <class T>
using completed = std::optional<completion<T>>;

template <class T>
auto keep_in(completed<T>& got) {
    return [&got](error_code error, T item) {
        EXPECT_FALSE(got) << "a handler was called twice";
        got.emplace(error, std::move(item));
    };
}

/// As above, on `executor`, which may be a context.
template <class Executor, class T>
auto keep_on(Executor& executor, completed<T>& got) {
    return net::bind_executor(executor, keep_in(got));
}

inline long value_of(long item) {
    return item;
}
inline long value_of(const tracked& item) {
    return item.id();
}

template <class T>
void expect_got(const completed<T>& got, long item) {
    ASSERT_TRUE(got);
    EXPECT_FALSE(got->error) << got->error.message();
    EXPECT_EQ(value_of(got->item), item);
}

template <class T>
void expect_failed(const completed<T>& got, exchange_errc why, long own) {
    ASSERT_TRUE(got);
    EXPECT_EQ(got->error, make_error_code(why));
    EXPECT_EQ(value_of(got->item), own);
}

/// Runs what is ready, also after the context has run out of work before.
inline void step(net::io_context& io) {
    io.restart();
    io.poll();
}

} // namespace tryst::test
