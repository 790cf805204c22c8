// SPDX-License-Identifier: MIT
/// @file
/// What a shared library, whose symbols are hidden by default, does with objects of its user.
#pragma once

#include <tryst/tryst.hpp>
#ifdef TRYST_TEST_ASIO
#include <tryst/asio.hpp>

#include <asio/io_context.hpp>
#endif

#include <chrono>
#include <functional>
#include <memory>
#include <system_error>

namespace tryst::test {

/// The error of a `try_exchange` in the library.
[[gnu::visibility("default")]] std::error_code error_from_library(exchanger<int>& ex);

/// Requests a stop in the library.
[[gnu::visibility("default")]] void request_stop_in_library(inplace_stop_source& stop);

// Executors of the library's, with types of the user's. All have hidden visibility.
struct own_clock {
    std::chrono::steady_clock::time_point now() const noexcept { return {}; }
};
struct own_wake {
    own_wake(loop_turns& turns, loop_turns*& known) noexcept { known = &turns; }
    void wake() noexcept {}
};
/// With `keep_alive`, because then it begins in another state.
struct own_lively_wake : own_wake {
    using own_wake::own_wake;
    void keep_alive(bool) noexcept {}
};

/// A thing whose destruction can be seen.
using token = std::shared_ptr<const int>;

/// What the library does with an executor.
#define TRYST_TEST_EXECUTOR(Executor)                                                              \
    /** Whether the library sees that `on` runs here. */                                           \
    [[gnu::visibility("default")]] bool runs_here(Executor& on);                                   \
    /** A task of the library that uses a scope and a future on `on`. */                           \
    [[gnu::visibility("default")]] task<int> joins_in_library(Executor& on);                       \
    /** Spawns a task that exchanges in the library. */                                            \
    [[gnu::visibility("default")]] void exchange_in_library(Executor& on, exchanger<int>& at,      \
                                                            int& theirs, const token& held);       \
    /** Destroys it in the library. */                                                             \
    [[gnu::visibility("default")]] void destroy_in_library(std::unique_ptr<Executor> on);
#define TRYST_TEST_CORE_EXECUTORS                                                                  \
    TRYST_TEST_EXECUTOR(run_loop)                                                                  \
    TRYST_TEST_EXECUTOR(basic_run_loop<own_clock>)                                                 \
    TRYST_TEST_EXECUTOR(loop_executor<own_wake>)                                                   \
    TRYST_TEST_EXECUTOR(loop_executor<own_lively_wake>)
TRYST_TEST_CORE_EXECUTORS
#ifdef TRYST_TEST_ASIO
TRYST_TEST_EXECUTOR(asio::task_executor<>)
#endif

} // namespace tryst::test
