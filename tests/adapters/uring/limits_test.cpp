// SPDX-License-Identifier: MIT
// The limits of each operation: a time and a stop token, one of them, or both in either order.
#include "adapters/uring/harness.hpp"
#include "adapters/uring/operations.hpp"

#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test;
using tryst::uring::limits;
using clock = std::chrono::steady_clock;

class UringLimits : public testing::Test {
public:
    UringLimits() { stopped.request_stop(); }

    template <class Make>
    std::error_code run(Make make) {
        return run_one(loop, std::move(make)).error();
    }

    /// `make(limit...)` makes an operation. A stop has been requested, so it does not start.
    template <class Make>
    void expect_stops(Make make) {
        const auto stop = stopped.get_token();
        EXPECT_EQ(run([&] { return make(stop); }), std::errc::operation_canceled);
        EXPECT_EQ(run([&] { return make(24h, stop); }), std::errc::operation_canceled);
        EXPECT_EQ(run([&] { return make(stop, clock::now() + 24h); }),
                  std::errc::operation_canceled);
        EXPECT_EQ(run([&] { return make(limits(24h, stop)); }), std::errc::operation_canceled);
    }

    /// The same, for an operation that waits until its time is over.
    template <class Make>
    void expect_limits(Make make, std::errc late = std::errc::timed_out) {
        expect_stops(make);
        const auto stop = never.get_token();
        EXPECT_EQ(run([&] { return make(1ms); }), late);
        EXPECT_EQ(run([&] { return make(clock::now(), stop); }), late);
        EXPECT_EQ(run([&] { return make(stop, 1ms); }), late);
    }

    context loop;
    std::stop_source stopped;
    std::stop_source never;
};

TEST_F(UringLimits, OfATimeout) {
    expect_limits([&](auto... limit) { return loop.timeout(limit...); }, std::errc{});
}

TEST_F(UringLimits, OfOperationsThatWait) {
    silence with;
    for_each_waiting_operation([&](const char* name, auto make) {
        SCOPED_TRACE(name);
        expect_limits([&](auto... limit) { return make(with, loop, limit...); });
    });
    tryst::uring::accept_stream connections(loop, with.port.get());
    expect_limits([&](auto... limit) { return connections.next(limit...); });
    tryst::uring::recv_stream pieces(loop, with.sockets.reader.get());
    expect_limits([&](auto... limit) { return pieces.next(limit...); });
}

TEST_F(UringLimits, OfOperationsThatNeedNotWait) {
    std::optional<workplace> at;
    for_each_deed([&](const char* name, auto make, auto) {
        SCOPED_TRACE(name);
        at.emplace(); // with the files that the operation needs
        expect_stops([&](auto... limit) { return make(*at, loop, limit...); });
        EXPECT_EQ(run([&] { return make(*at, loop, never.get_token(), 24h); }), std::error_code());
    });
    expect_stops([&](auto... limit) { return loop.close(make_file(), limit...); });
}

TEST_F(UringLimits, MayBeStored) {
    const auto stop = never.get_token();
    const auto deadline = clock::now() + 1h;
    const limits none;
    EXPECT_FALSE(none.has_deadline());
    EXPECT_FALSE(none.stop().stop_possible());
    const limits both(deadline, stop);
    const limits swapped(stop, deadline);
    EXPECT_EQ(both.deadline(), deadline);
    EXPECT_EQ(swapped.deadline(), deadline);
    EXPECT_EQ(both.stop(), stop);
    EXPECT_EQ(swapped.stop(), stop);

    const limits brief(1ms); // begins here, so that it is over for the second operation
    EXPECT_EQ(run([&] { return loop.timeout(brief); }), std::error_code());
    EXPECT_LE(brief.deadline(), clock::now());
    EXPECT_EQ(run([&] { return loop.timeout(brief); }), std::error_code());
    EXPECT_EQ(limits((std::chrono::hours::max)()).deadline(), (clock::time_point::max)());
}

static_assert(std::is_convertible_v<std::chrono::hours, limits>);
static_assert(std::is_nothrow_copy_constructible_v<limits>);

} // namespace
