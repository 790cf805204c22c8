// SPDX-License-Identifier: MIT
/// @file
/// How a pipeline ends early: one stage's error stops all of them.
#pragma once

#include <cerrno>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace uring_zstd {

/// Converts `errno`.
inline std::error_code last_error() noexcept {
    return {errno, std::generic_category()};
}

/// "FILE: cannot WHAT: why", in one line.
class file_error : public std::runtime_error {
public:
    file_error(const std::string& file, const char* what, const std::string& why)
        : std::runtime_error(file + ": cannot " + what + ": " + why) {}
    file_error(const std::string& file, const char* what, std::error_code why)
        : file_error(file, what, why.message()) {}
};

/// Nothing more can be written to a pipe or device.
class stream_error : public file_error {
    using file_error::file_error;
};

/// A signal asked us to end.
struct interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
};

/// The first thing that went wrong. What others report after it is a consequence of the stop.
class failure {
public:
    void report(std::exception_ptr why) noexcept {
        {
            const std::lock_guard lock(mutex_);
            if (!first_) {
                first_ = std::move(why);
            }
        }
        stop_.request_stop();
    }

    std::stop_token stop() const noexcept { return stop_.get_token(); }

    /// Call it when nobody reports any more.
    void rethrow() const {
        if (first_) {
            std::rethrow_exception(first_);
        }
    }

private:
    std::mutex mutex_;
    std::exception_ptr first_;
    std::stop_source stop_;
};

} // namespace uring_zstd
