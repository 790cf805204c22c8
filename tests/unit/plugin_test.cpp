// SPDX-License-Identifier: MIT
// A program and a plugin. With TRYST_TEST_SHARED the program exports its symbols, so that the two
// share the variables of the library. Otherwise the plugin has variables and thread-locals of its
// own.
#include "plugin_library.hpp"

#include "support/bare_coroutine.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <latch>
#include <memory>
#include <stdexcept>
#include <thread>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tryst::test {
namespace {

/// Loads the plugin.
class plugin {
public:
    plugin() : handle_(::dlopen(TRYST_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL)) {
        if (handle_ == nullptr) {
            throw std::runtime_error(::dlerror());
        }
    }
    plugin(const plugin&) = delete;
    plugin& operator=(const plugin&) = delete;
    ~plugin() { EXPECT_EQ(::dlclose(handle_), 0) << ::dlerror(); }

    /// A function of the plugin.
    template <class Function>
    Function* find(const char* name) const {
        void* const found = ::dlsym(handle_, name);
        EXPECT_NE(found, nullptr) << ::dlerror();
        return reinterpret_cast<Function*>(found);
    }
    /// Calls one.
    void call(const char* name, shared_objects& shared) const {
        find<void(shared_objects&)>(name)(shared);
    }

private:
    void* handle_;
};

TEST(Plugin, CountsInTheCountersOfItsProgram) {
    const plugin loaded;
    auto* const try_here = loaded.find<decltype(try_in_plugin)>("try_in_plugin");
    exchanger<int, counted> at;
    constexpr int times = 1'000'000;
    std::latch start(2);
    std::thread other([&] {
        start.arrive_and_wait();
        try_here(at, times);
    });
    start.arrive_and_wait();
    for (int i = 0; i != times; ++i) {
        (void)at.try_exchange(i);
    }
    other.join();
    EXPECT_EQ(at.stats().no_partner, 2 * std::uint64_t{times});
    EXPECT_EQ(at.stats().arrivals, 2 * std::uint64_t{times});
}

TEST(Plugin, ReturnsErrorsThatEqualThoseOfItsProgram) {
    const plugin loaded;
    shared_objects shared;
    loaded.call("fail_in_plugin", shared);
    EXPECT_EQ(shared.error, exchange_errc::no_partner);
    EXPECT_EQ(exchange_errc::no_partner, shared.error);
    EXPECT_NE(shared.error, exchange_errc::closed);
    EXPECT_EQ(shared.error, std::errc::operation_would_block);
    shared.at.close();
    loaded.call("fail_in_plugin", shared);
    EXPECT_EQ(shared.error, exchange_errc::closed);
}

TEST(Plugin, StopsAWaitOfItsProgram) {
    const plugin loaded;
    shared_objects shared;
    std::error_code why;
    // Its callback ends within the request, on the thread that requests the stop.
    [](shared_objects& with, std::error_code& end) -> detached_coroutine {
        const auto got = co_await with.at.exchange(1, with.stop.get_token());
        end = got.error();
    }(shared, why);
    loaded.call("request_stop_in_plugin", shared);
    EXPECT_EQ(why, exchange_errc::cancelled);
}

TEST(Plugin, MeetsAThreadOfItsProgram) {
    const plugin loaded;
    shared_objects shared;
    for (const char* const function : {"exchange_in_plugin", "exchange_on_loop_of_plugin"}) {
        std::thread other([&] { loaded.call(function, shared); });
        const auto got = sync_wait(shared.at.exchange(2));
        other.join();
        EXPECT_EQ(got, 1);
        EXPECT_EQ(shared.count, 2);
    }
}

/// A task of the plugin, in one of the program.
task<> await_task_of(const plugin& loaded, shared_objects& shared) {
    const std::unique_ptr<task<int>> work(
        loaded.find<decltype(make_task_in_plugin)>("make_task_in_plugin")(shared));
    shared.count = co_await std::move(*work);
}

#ifdef TRYST_TEST_SHARED

TEST(Plugin, UsesTheLoopOfItsProgram) {
    const plugin loaded;
    shared_objects shared;
    loaded.call("spawn_in_plugin", shared);
    shared.loop.run_until_idle();
    EXPECT_EQ(shared.count, 1);
    shared.loop.spawn(await_task_of(loaded, shared));
    shared.loop.run_until_idle();
    EXPECT_TRUE(shared.at.try_exchange(3));
    shared.loop.run_until_idle();
    EXPECT_EQ(shared.count, 3);
}

TEST(PluginDeathTest, MustNotBlockTheLoopOfItsProgram) {
    const plugin loaded;
    shared_objects shared;
    shared.loop.spawn([](const plugin& from, shared_objects& with) -> task<> {
        from.call("exchange_in_plugin", with);
        co_return;
    }(loaded, shared));
    EXPECT_DEATH(shared.loop.run_until_idle(), "a thread that runs a loop must not block");
}

#else

TEST(PluginDeathTest, CannotUseTheLoopOfItsProgram) {
    const plugin loaded;
    shared_objects shared;
    EXPECT_DEATH(loaded.call("spawn_in_plugin", shared),
                 "a plugin uses its program's loop: see docs/install.md");
    EXPECT_DEATH(
        {
            shared.loop.spawn(await_task_of(loaded, shared));
            shared.loop.run_until_idle();
        },
        "a plugin uses its program's loop: see docs/install.md");
}

#ifdef __linux__
std::ptrdiff_t count_threads() {
    const std::filesystem::directory_iterator threads("/proc/self/task");
    return std::distance(begin(threads), end(threads));
}

TEST(Plugin, EndsItsTimerThreadWhenItIsUnloaded) {
    const std::ptrdiff_t threads = count_threads();
    {
        const plugin loaded;
        loaded.find<decltype(use_timer_thread_in_plugin)>("use_timer_thread_in_plugin")();
        EXPECT_EQ(count_threads(), threads + 1);
    }
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

#endif

} // namespace
} // namespace tryst::test
