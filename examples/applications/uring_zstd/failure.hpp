// SPDX-License-Identifier: MIT
/// @file
/// Ends a pipeline early: an error in one stage stops all stages.
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

/// "FILE: cannot OPERATION: REASON", in one line.
class file_error : public std::runtime_error {
public:
    file_error(const std::string& file, const char* operation, const std::string& reason)
        : std::runtime_error(file + ": cannot " + operation + ": " + reason) {}
    file_error(const std::string& file, const char* operation, std::error_code reason)
        : file_error(file, operation, reason.message()) {}
};

/// An output stream failed, so further files cannot be written to it either.
class stream_error : public file_error {
    using file_error::file_error;
};

/// A signal requested the end of the program.
struct interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
};

/// Keeps the first reported error. Later errors are consequences of the stop, so they are ignored.
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

    /// Throws the first error, if any. Precondition: all stages have ended.
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
