// SPDX-License-Identifier: MIT
// The number of processors that a process may use.
#include <tryst/detail/platform/atomic.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>

#include <sched.h>

namespace tryst::test {
namespace {

using detail::processor_count;

/// Confines the calling thread to one of its processors, until the end of the scope.
class confined {
public:
    confined() {
        EXPECT_EQ(sched_getaffinity(0, sizeof outer_, &outer_), 0);
        std::size_t first = 0;
        while (!CPU_ISSET(first, &outer_)) {
            ++first;
        }
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(first, &one);
        EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    }
    confined(const confined&) = delete;
    confined& operator=(const confined&) = delete;
    ~confined() { EXPECT_EQ(sched_setaffinity(0, sizeof outer_, &outer_), 0); }

    unsigned processors_before() const { return static_cast<unsigned>(CPU_COUNT(&outer_)); }

private:
    cpu_set_t outer_{};
};

TEST(ProcessorCount, IgnoresAThreadThatIsPinnedLater) {
    const confined here;
    EXPECT_EQ(processor_count(), here.processors_before());
}

#ifndef TRYST_TEST_EMULATED // an emulated program cannot start itself anew
TEST(ProcessorCount, IsOneInAProcessThatIsConfinedToOneProcessor) {
    GTEST_FLAG_SET(death_test_style, "threadsafe"); // starts this program anew
    const confined here;
    EXPECT_EXIT(std::exit(static_cast<int>(processor_count())), ::testing::ExitedWithCode(1), "");
}
#endif

} // namespace
} // namespace tryst::test
