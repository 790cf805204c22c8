// SPDX-License-Identifier: MIT
/// @file
/// Expectations about an operation's result.
#pragma once

#include <tryst/uring/result.hpp>

#include <gtest/gtest.h>

#include <string>
#include <system_error>

namespace tryst::test {

/// A failure says which operation it was, in each of its three ways.
template <class T>
void expect_failed(const uring::result<T>& got, const char* operation, int code) {
    const std::error_code error(code, std::system_category());
    EXPECT_FALSE(got);
    EXPECT_EQ(got.error(), error);
    EXPECT_STREQ(got.operation(), operation);
    EXPECT_EQ(got.message(), std::string(operation) + ": " + error.message());
    try {
        static_cast<void>(got.value());
        ADD_FAILURE() << operation << " has a value";
    } catch (const std::system_error& thrown) {
        EXPECT_EQ(thrown.code(), error);
        EXPECT_EQ(std::string(thrown.what()).find(operation), 0U) << thrown.what();
    }
}

template <class T>
void expect_succeeded(const uring::result<T>& got, const char* operation) {
    EXPECT_TRUE(got) << got.message();
    EXPECT_FALSE(got.error());
    EXPECT_STREQ(got.operation(), operation);
    EXPECT_NO_THROW(static_cast<void>(got.value()));
}

} // namespace tryst::test
