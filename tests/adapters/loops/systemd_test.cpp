// SPDX-License-Identifier: MIT
// What is particular to sd-event.
#include "support/no_files.hpp"

#include <tryst/systemd.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <system_error>

namespace {

class SystemdLoop : public ::testing::Test {
protected:
    SystemdLoop() { sd_event_new(&loop_); }
    ~SystemdLoop() override { EXPECT_EQ(sd_event_unref(loop_), nullptr); }

    sd_event* loop_ = nullptr;
};

tryst::task<> leave(sd_event* on, int status) {
    sd_event_exit(on, status);
    co_return;
}

TEST_F(SystemdLoop, EndsWithTheStatusThatATaskChooses) {
    tryst::systemd::executor executor(loop_);
    executor.spawn(leave(loop_, 7));
    EXPECT_EQ(sd_event_loop(loop_), 7);
}

TEST_F(SystemdLoop, IsLeftAsItWasIfThereIsNoFile) {
    const auto before = tryst::test::open_files();
    {
        const tryst::test::no_more_files here;
        EXPECT_THROW(tryst::systemd::executor executor(loop_), std::system_error);
    }
    EXPECT_EQ(tryst::test::open_files(), before);
    tryst::systemd::executor executor(loop_);
    executor.spawn(leave(loop_, 1));
    EXPECT_EQ(sd_event_loop(loop_), 1);
}

TEST_F(SystemdLoop, IsRefusedIfItIsNull) {
    const auto before = tryst::test::open_files();
    EXPECT_THROW(tryst::systemd::executor executor(nullptr), std::system_error);
    EXPECT_EQ(tryst::test::open_files(), before);
}

TEST_F(SystemdLoop, IsRefusedIfItHasFinished) {
    sd_event_exit(loop_, 0);
    sd_event_loop(loop_);
    const auto before = tryst::test::open_files();
    EXPECT_THROW(tryst::systemd::executor executor(loop_), std::system_error);
    EXPECT_EQ(tryst::test::open_files(), before);
}

} // namespace
