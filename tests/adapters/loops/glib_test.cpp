// SPDX-License-Identifier: MIT
// What is particular to GLib.
#include <tryst/glib.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace {

tryst::task<> note(std::vector<int>& order, int id) {
    order.push_back(id);
    co_return;
}

TEST(GlibContext, IsTheDefaultOneIfItIsNull) {
    tryst::glib::executor on(nullptr);
    std::vector<int> order;
    on.spawn(note(order, 1));
    while (order.empty()) {
        g_main_context_iteration(nullptr, TRUE);
    }
    EXPECT_EQ(order, std::vector{1});
}

TEST(GlibContext, RunsTasksByTheirExecutorsPriority) {
    GMainContext* const context = g_main_context_new();
    {
        tryst::glib::executor idle(context, G_PRIORITY_DEFAULT_IDLE);
        tryst::glib::executor high(context, G_PRIORITY_HIGH);
        std::vector<int> order;
        idle.spawn(note(order, 2));
        high.spawn(note(order, 1));
        while (order.size() != 2) {
            g_main_context_iteration(context, TRUE);
        }
        EXPECT_EQ(order, (std::vector{1, 2}));
    }
    g_main_context_unref(context);
}

} // namespace
