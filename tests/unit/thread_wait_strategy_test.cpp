// SPDX-License-Identifier: MIT
// How long a thread spins and yields for a partner before it sleeps, on a platform where both are
// scripted.
#include <tryst/detail/run/thread_wait_strategy.hpp>

#include <gtest/gtest.h>

namespace tryst::test {
namespace {

using detail::spin_pauses;
using detail::spin_rounds;

bool in_time() {
    return false;
}

class ThreadWait : public ::testing::Test {
protected:
    ThreadWait() { the_script() = {}; }

    template <class Done>
    static void wait_until(Done is_done) {
        detail::thread_wait_strategy().await_partner(is_done, in_time);
    }
    static void wait_in_vain() {
        wait_until([] { return false; });
    }
};

TEST_F(ThreadWait, DoesNotYieldIfThePartnerComesDuringTheSpins) {
    wait_until([] { return the_script().pauses == spin_pauses - 1; });
    EXPECT_EQ(the_script().yields, 0);
}

TEST_F(ThreadWait, GoesOnSpinningWhileNobodyElseWantsTheCore) {
    wait_until([] { return the_script().pauses == 3 * spin_pauses; });
    EXPECT_EQ(the_script().yields, 2);
}

TEST_F(ThreadWait, EndsAfterABoundedTimeAlthoughNobodyElseWantsTheCore) {
    wait_in_vain();
    EXPECT_EQ(the_script().yields, spin_rounds);
    EXPECT_EQ(the_script().pauses, spin_rounds * spin_pauses);
}

// A second yield could give the core to a busy thread for a whole time slice.
TEST_F(ThreadWait, YieldsOnceIfAnotherThreadWantsTheCore) {
    the_script().core_is_wanted = true;
    wait_in_vain();
    EXPECT_EQ(the_script().yields, 1);
    EXPECT_EQ(the_script().pauses, spin_pauses);
}

// Short spins would be too short for a partner on another core, so that every wait would have to
// yield, even when the core is no longer wanted.
TEST_F(ThreadWait, SpinsNoLessAfterManyYieldsToOtherThreads) {
    the_script().core_is_wanted = true;
    for (int i = 0; i != 100; ++i) {
        wait_in_vain();
    }
    the_script() = {};
    wait_until([] { return the_script().pauses == spin_pauses - 1; });
    EXPECT_EQ(the_script().yields, 0);
}

TEST_F(ThreadWait, YieldsWithoutSpinningOnASingleProcessor) {
    the_script().processors = 1;
    wait_until([] { return the_script().yields == 2; });
    EXPECT_EQ(the_script().yields, 2);
    EXPECT_EQ(the_script().pauses, 0);
}

TEST_F(ThreadWait, LooksAtTheClockOnlyBeforeItYields) {
    int looks = 0;
    detail::thread_wait_strategy().await_partner([] { return false; },
                                                 [&] {
                                                     ++looks;
                                                     return true;
                                                 });
    EXPECT_EQ(looks, 1);
    EXPECT_EQ(the_script().pauses, spin_pauses);
    EXPECT_EQ(the_script().yields, 0);
}

} // namespace
} // namespace tryst::test
