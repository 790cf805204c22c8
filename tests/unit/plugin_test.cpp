// SPDX-License-Identifier: MIT
// A program that exports no symbols, so that a plugin has variables and thread-locals of its own.
#include <tryst/statistics.hpp>

#include <tryst/exchanger.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <latch>
#include <thread>

#include <dlfcn.h>

namespace tryst::test {
namespace {

TEST(Plugin, CountsInTheCountersOfItsProgram) {
    void* const plugin = ::dlopen(TRYST_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(plugin, nullptr) << ::dlerror();
    using counted_exchanger = exchanger<int, counted>;
    using try_function = void (*)(counted_exchanger&, int);
    const auto try_in_plugin = reinterpret_cast<try_function>(::dlsym(plugin, "try_in_plugin"));
    ASSERT_NE(try_in_plugin, nullptr) << ::dlerror();
    counted_exchanger at;
    constexpr int times = 1'000'000;
    std::latch start(2);
    std::thread other([&] {
        start.arrive_and_wait();
        try_in_plugin(at, times);
    });
    start.arrive_and_wait();
    for (int i = 0; i != times; ++i) {
        (void)at.try_exchange(i);
    }
    other.join();
    EXPECT_EQ(at.stats().no_partner, 2 * std::uint64_t{times});
    EXPECT_EQ(at.stats().arrivals, 2 * std::uint64_t{times});
}

} // namespace
} // namespace tryst::test
