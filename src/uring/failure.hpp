// SPDX-License-Identifier: MIT
/// @file
/// Failures of system calls: exceptions that name the setting or limit at fault, and the
/// termination of the program if a context cannot continue.
#pragma once

#include <string>
#include <system_error>

#include <sys/resource.h>

namespace tryst::uring::detail {

/// The settings that decide whether a process may use io_uring.
struct permissions {
    int disabled; ///< The sysctl kernel.io_uring_disabled; 0 if the kernel has none.
    rlim_t lockable; ///< RLIMIT_MEMLOCK, in bytes.
};

/// The likely cause of `error`, and its remedy; empty if none is known.
std::string cause_of(int error, const permissions& here);

/// The exception for a `call` that failed with `error`. Its text is "call: error".
std::system_error failure(int error, const char* call);

/// As `failure`, for the calls of io_uring. Its text is "call: cause: error".
std::system_error uring_failure(int error, const char* call);

/// Prints "tryst: ", the three parts and a newline to stderr, and aborts.
[[noreturn]] void die(const char* problem, const char* detail = "",
                      const char* advice = "") noexcept;

} // namespace tryst::uring::detail
