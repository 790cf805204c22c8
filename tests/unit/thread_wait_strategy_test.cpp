// SPDX-License-Identifier: MIT
// How long a thread spins for a partner before it yields, on a platform where both are scripted.
#include <tryst/detail/run/thread_wait_strategy.hpp>

#include <gtest/gtest.h>

namespace tryst::test {
namespace {

using detail::max_spins;
using detail::min_spins;
using detail::spin_rounds;

bool in_time() {
    return false;
}

class ThreadSleeper : public ::testing::Test {
protected:
    ThreadSleeper() {
        the_script() = {};
        spins() = max_spins / 2;
    }

    static int& spins() { return detail::per_thread<detail::thread_state>().spins; }

    /// Waits for a partner that comes after so many pauses.
    static void wait_for_pauses(int pauses) {
        the_script().pauses = 0;
        detail::thread_wait_strategy().await_partner(
            [pauses] { return the_script().pauses == pauses; }, in_time);
    }
    /// Waits for a partner that comes while this thread yields for that time.
    static void wait_for_yields(int yields) {
        the_script().yields = 0;
        detail::thread_wait_strategy().await_partner(
            [yields] { return the_script().yields == yields; }, in_time);
    }
    static void wait_in_vain() {
        detail::thread_wait_strategy().await_partner([] { return false; }, in_time);
    }
};

TEST_F(ThreadSleeper, SpinsLongerWhenThatHelped) {
    wait_for_pauses(3);
    EXPECT_EQ(spins(), max_spins);
    EXPECT_EQ(the_script().yields, 0);
    wait_for_pauses(3);
    EXPECT_EQ(spins(), max_spins);
}

TEST_F(ThreadSleeper, SpinsLessWhenOthersWantTheCore) {
    the_script().core_is_wanted = true;
    wait_for_yields(1);
    EXPECT_EQ(spins(), max_spins / 4);
    wait_in_vain();
    EXPECT_EQ(spins(), min_spins);
    wait_for_yields(1);
    EXPECT_EQ(spins(), min_spins);
}

// A thread whose partner is on another core, and takes a little longer than the spins, must not
// yield for ever.
TEST_F(ThreadSleeper, SpinsLongerWhenNobodyElseWantsTheCore) {
    spins() = min_spins;
    wait_for_yields(1);
    EXPECT_EQ(spins(), 2 * min_spins);
    wait_in_vain();
    EXPECT_EQ(spins(), max_spins);
    wait_for_pauses(max_spins - 1);
    EXPECT_EQ(the_script().yields, 1 + spin_rounds);
}

TEST_F(ThreadSleeper, YieldsABoundedNumberOfTimes) {
    wait_in_vain();
    EXPECT_EQ(the_script().yields, spin_rounds);
}

TEST_F(ThreadSleeper, LooksAtTheClockOnlyBeforeItYields) {
    int looks = 0;
    detail::thread_wait_strategy().await_partner([] { return false; },
                                                 [&] {
                                                     ++looks;
                                                     return true;
                                                 });
    EXPECT_EQ(looks, 1);
    EXPECT_EQ(the_script().pauses, max_spins / 2);
    EXPECT_EQ(the_script().yields, 0);
}

} // namespace
} // namespace tryst::test
