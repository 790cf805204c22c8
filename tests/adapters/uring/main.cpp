// SPDX-License-Identifier: MIT
// Without io_uring, these programs say so and exit with 77, by which ctest counts them as skipped.
// With TRYST_NO_SKIP in the environment they fail.
#include <tryst/uring/context.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <system_error>

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (GTEST_FLAG_GET(list_tests)) { // ctest asks, wherever it is
        return RUN_ALL_TESTS();
    }
    try {
        const tryst::uring::context probe;
    } catch (const std::system_error& error) {
        std::printf("no io_uring here: %s\n", error.what());
        const bool is_lack = error.code() == std::errc::function_not_supported ||
                             error.code() == std::errc::operation_not_permitted;
        return is_lack && std::getenv("TRYST_NO_SKIP") == nullptr ? 77 : 1;
    }
    return RUN_ALL_TESTS();
}
