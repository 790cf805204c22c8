// SPDX-License-Identifier: MIT
/// @file
/// A plugin that a program loads at run time.
#pragma once

#include <tryst/statistics.hpp>
#include <tryst/tryst.hpp>

#include <system_error>

namespace tryst::test {

/// What the program and the plugin both use.
struct shared_objects {
    exchanger<int> at;
    inplace_stop_source stop;
    run_loop loop;
    std::error_code error;
    int count = 0;
};

} // namespace tryst::test

#define TRYST_TEST_PLUGIN_FUNCTION extern "C" [[gnu::visibility("default")]]
TRYST_TEST_PLUGIN_FUNCTION void try_in_plugin(tryst::exchanger<int, tryst::counted>& at, int times);
TRYST_TEST_PLUGIN_FUNCTION void use_timer_thread_in_plugin();
TRYST_TEST_PLUGIN_FUNCTION void request_stop_in_plugin(tryst::test::shared_objects& shared);
TRYST_TEST_PLUGIN_FUNCTION void fail_in_plugin(tryst::test::shared_objects& shared);
TRYST_TEST_PLUGIN_FUNCTION void exchange_in_plugin(tryst::test::shared_objects& shared);
TRYST_TEST_PLUGIN_FUNCTION void exchange_on_loop_of_plugin(tryst::test::shared_objects& shared);
TRYST_TEST_PLUGIN_FUNCTION void spawn_in_plugin(tryst::test::shared_objects& shared);
/// The caller deletes it.
TRYST_TEST_PLUGIN_FUNCTION tryst::task<int>*
make_task_in_plugin(tryst::test::shared_objects& shared);
