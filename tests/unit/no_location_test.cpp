// SPDX-License-Identifier: MIT
// The same program without locations (TRYST_NO_LOCATIONS, which is set for this file).
#include <tryst/dump_waiters.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <concepts>
#include <source_location>
#include <sstream>
#include <string>
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

TEST(NoLocation, IsGivenToASpanAndListed) {
    struct located : tryst::listed_wait {
        located(const char* name, std::source_location where) noexcept : listed_wait(name, where) {
            EXPECT_EQ(where.line(), 0U);
        }
    };
    tryst::synchronous_channel<int, tryst::order::fifo, tryst::traced<located>> jobs;
    jobs.set_name("jobs");
    tryst::run_loop loop;
    const auto serve = [&]() -> tryst::task<> { static_cast<void>(co_await jobs.receive()); };
    loop.spawn(serve());
    loop.run_until_idle();
    std::ostringstream text;
    tryst::dump_waiters(text);
    EXPECT_NE(text.str().find("\n1 at jobs for 0."), std::string::npos);
    EXPECT_EQ(text.str().find("serve"), std::string::npos);
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
