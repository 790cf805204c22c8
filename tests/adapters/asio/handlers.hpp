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

/// The arguments of the handler of an exchange; empty until it is called.
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
