// SPDX-License-Identifier: MIT
// A program that exports no symbols, so that a plugin has variables and thread-locals of its own.
#include <tryst/statistics.hpp>

#include <tryst/exchanger.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <latch>
#include <thread>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

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
    EXPECT_EQ(::dlclose(plugin), 0) << ::dlerror();
}

#ifdef __linux__
std::ptrdiff_t count_threads() {
    const std::filesystem::directory_iterator threads("/proc/self/task");
    return std::distance(begin(threads), end(threads));
}

TEST(Plugin, EndsItsTimerThreadWhenItIsUnloaded) {
    void* const plugin = ::dlopen(TRYST_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(plugin, nullptr) << ::dlerror();
    const auto use_timer_thread =
        reinterpret_cast<void (*)()>(::dlsym(plugin, "use_timer_thread_in_plugin"));
    ASSERT_NE(use_timer_thread, nullptr) << ::dlerror();
    const std::ptrdiff_t threads = count_threads();
    use_timer_thread();
    EXPECT_EQ(count_threads(), threads + 1);
    ASSERT_EQ(::dlclose(plugin), 0) << ::dlerror();
    ASSERT_EQ(::dlopen(TRYST_TEST_PLUGIN, RTLD_NOW | RTLD_NOLOAD), nullptr);
    while (count_threads() != threads) { // the kernel removes a joined thread a little later
        std::this_thread::yield();
    }
    const pid_t child = ::fork(); // must not call handlers of the plugin
    if (child == 0) {
        std::_Exit(3);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 3);
}
#endif

} // namespace
} // namespace tryst::test
