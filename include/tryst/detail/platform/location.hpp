// SPDX-License-Identifier: MIT
/// @file
/// The place in the program where a party waits, for debuggers (docs/gdb.md).
/// Standard library only.
#pragma once

#include <source_location>

namespace tryst::detail {

/* How a wait gets its location
 *  1. `await_suspend` of each awaiter has a last parameter, whose default argument is
 *     `location::current()`. The compiler evaluates it where it calls the function: at the
 *     `co_await`. So any coroutine may await, with an `await_transform` or without one.
 *  2. The awaiter stores it directly behind the address of the coroutine, as gdb's scripts expect.
 *     So a wait costs one store, and an operation that does not wait costs none.
 *  3. Functions that block or start something take it as their last argument.
 *
 * Rejected: a location in the promise. One of an earlier `co_await` would stay there while the
 *     coroutine awaits something of another library.
 * Rejected: an `await_transform`. It would serve only tryst's own coroutines, and store a location
 *     even if the `co_await` does not wait. */
#ifdef TRYST_NO_LOCATIONS
/// Stands for `std::source_location`, and records nothing. It has the same size, so objects are the
/// same in the parts of a program that define the macro and in those that do not.
class location {
public:
    static constexpr location current() noexcept { return {}; }

    constexpr const char* file_name() const noexcept { return ""; }
    constexpr const char* function_name() const noexcept { return ""; }
    constexpr unsigned line() const noexcept { return 0; }
    constexpr operator std::source_location() const noexcept { return {}; }

private:
    const void* nowhere_ = nullptr;
};
static_assert(sizeof(location) == sizeof(std::source_location));
#else
using location = std::source_location;
#endif

/// Where a wait keeps its location. Has no value before `set`, because a store per wait is enough.
class location_slot {
public:
    location_slot() noexcept {}

    // Without locations a null, because the linker may keep the `get` of another part.
    void set(location where) noexcept { recorded = where; }

    /// Precondition: it is set.
    location get() const noexcept { return recorded; }

private:
    union {
        location recorded;
    };
};

} // namespace tryst::detail
