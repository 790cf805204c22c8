// SPDX-License-Identifier: MIT
// The adapter for io_uring with types of a namespace whose functions have the names of the
// library's.
#include "meet.hpp"

#include <tryst/uring.hpp>

#include <gtest/gtest.h>

namespace {

TEST(StrangerOnRing, Meets) {
    tryst::uring::context loop;
    loop.run(stranger::meet(loop));
    EXPECT_EQ(loop.run(stranger::awaitable()).number, 7);
}

} // namespace
