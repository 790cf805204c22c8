// SPDX-License-Identifier: MIT
#include "hidden_library.hpp"

#include <tryst/result.hpp>

#include <gtest/gtest.h>

namespace tryst::test {
namespace {

TEST(SharedLibrary, ReturnsErrorsThatCompareEqualToTheProgramsOwn) {
    exchanger<int> ex;
    EXPECT_EQ(error_from_library(ex), exchange_errc::no_partner);
    ex.close();
    EXPECT_EQ(error_from_library(ex), exchange_errc::closed);
    EXPECT_EQ(error_from_library(ex).category(), exchange_category());
}

} // namespace
} // namespace tryst::test
