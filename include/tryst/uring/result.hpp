// SPDX-License-Identifier: MIT
/// @file
/// The outcome of an operation of the kernel: a value or an error, and the operation's name.
/// Standard library only.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace tryst::uring {

/// The outcome of an operation, like `std::expected<T, std::error_code>`, with the operation's
/// name. Errors are those of the kernel, in `std::system_category()`, and compare with `std::errc`.
/// The library itself reports three: `operation_canceled` after a stop, `timed_out` after a
/// deadline, and `function_not_supported` if the kernel is too old for the operation.
template <class T = void>
class [[nodiscard]] result {
public:
    using value_type = T; ///< The type of the value.

    /// A success.
    result(const char* operation, T&& value) noexcept
        : value_(std::move(value)), operation_(operation) {}
    /// A failure.
    result(const char* operation, std::error_code error) noexcept
        : error_(error), operation_(operation) {}

    /// Whether it succeeded.
    bool has_value() const noexcept { return value_.has_value(); }
    /// `has_value()`
    explicit operator bool() const noexcept { return has_value(); }

    /// @{
    /// The value. Precondition: `has_value()`.
    T& operator*() & noexcept { return checked(); }
    const T& operator*() const& noexcept { return const_cast<result*>(this)->checked(); }
    T&& operator*() && noexcept { return std::move(checked()); }
    T* operator->() noexcept { return &checked(); }
    const T* operator->() const noexcept { return &**this; }
    /// @}

    /// @{
    /// The value. @throws std::system_error with `error()` and the operation's name if there is no
    /// value.
    T& value() & { return require(), *value_; }
    const T& value() const& { return require(), *value_; }
    T&& value() && { return require(), std::move(*value_); }
    /// @}

    /// The error; a default-constructed `std::error_code` if there is a value.
    std::error_code error() const noexcept { return error_; }

    /// The name of the operation: "read", "accept", ...
    const char* operation() const noexcept { return operation_; }

    /// Name and error in one line: "openat: No such file or directory".
    std::string message() const { return std::string(operation_) + ": " + error_.message(); }

private:
    T& checked() noexcept {
        assert(has_value() && "tryst: this operation failed; see error()");
        return *value_;
    }
    void require() const {
        if (!has_value()) {
            throw std::system_error(error_, operation_);
        }
    }

    std::optional<T> value_;
    std::error_code error_;
    const char* operation_;
};

/// The outcome of an operation without a value.
template <>
class [[nodiscard]] result<void> {
public:
    using value_type = void; ///< Nothing.

    /// A failure, or a success if `error` is default-constructed.
    explicit result(const char* operation, std::error_code error = {}) noexcept
        : error_(error), operation_(operation) {}

    /// Whether it succeeded.
    bool has_value() const noexcept { return !error_; }
    /// `has_value()`
    explicit operator bool() const noexcept { return has_value(); }

    /// @throws std::system_error with `error()` and the operation's name if it failed.
    void value() const {
        if (!has_value()) {
            throw std::system_error(error_, operation_);
        }
    }

    /// The error; a default-constructed `std::error_code` after a success.
    std::error_code error() const noexcept { return error_; }
    /// The name of the operation: "fsync", "connect", ...
    const char* operation() const noexcept { return operation_; }
    /// Name and error in one line: "connect: Connection refused".
    std::string message() const { return std::string(operation_) + ": " + error_.message(); }

private:
    std::error_code error_;
    const char* operation_;
};

} // namespace tryst::uring
