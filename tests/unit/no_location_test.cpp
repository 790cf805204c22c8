// SPDX-License-Identifier: MIT
// The same program without locations (TRYST_NO_LOCATIONS, which is set for this file).
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <concepts>
#include <source_location>
#include <string_view>

namespace {

TEST(NoLocation, HasTheLayoutOfALocation) {
    using location = tryst::detail::location;
    EXPECT_FALSE((std::same_as<location, std::source_location>));
    EXPECT_EQ(sizeof(location), sizeof(std::source_location));
    EXPECT_EQ(location::current().line(), 0U);
    EXPECT_EQ(std::string_view(location::current().file_name()), "");
    EXPECT_EQ(std::string_view(location::current().function_name()), "");
}

TEST(NoLocation, IsNoObstacleToAWait) {
    tryst::exchanger<int> at;
    tryst::run_loop loop;
    int sum = 0;
    const auto swap = [&](int x) -> tryst::task<> {
        auto got = co_await at.exchange(x);
        sum += *got;
    };
    loop.spawn(swap(1));
    loop.spawn(swap(2));
    loop.run_until_idle();
    EXPECT_EQ(sum, 3);
}

} // namespace
