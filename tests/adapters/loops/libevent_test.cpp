// SPDX-License-Identifier: MIT
// What is particular to libevent.
#include "support/no_files.hpp"

#include <tryst/libevent.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <system_error>

namespace {

using base = std::unique_ptr<event_base, void (*)(event_base*)>;

tryst::task<> leave(event_base* on, bool& ran) {
    ran = true;
    event_base_loopbreak(on);
    co_return;
}

TEST(LibeventBase, IsLeftAsItWasIfThereIsNoFile) {
    const base on(event_base_new(), event_base_free);
    const auto before = tryst::test::open_files();
    {
        const tryst::test::no_more_files here;
        EXPECT_THROW(tryst::libevent::executor executor(on.get()), std::system_error);
    }
    EXPECT_EQ(tryst::test::open_files(), before);
    EXPECT_EQ(event_base_get_num_events(on.get(), EVENT_BASE_COUNT_ADDED), 0);
    {
        tryst::libevent::executor executor(on.get());
        bool ran = false;
        executor.spawn(leave(on.get(), ran));
        event_base_dispatch(on.get());
        EXPECT_TRUE(ran);
    }
    EXPECT_EQ(tryst::test::open_files(), before);
    EXPECT_EQ(event_base_get_num_events(on.get(), EVENT_BASE_COUNT_ADDED), 0);
    EXPECT_EQ(event_base_dispatch(on.get()), 1) << "nothing to wait for";
}

} // namespace
