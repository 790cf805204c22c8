// SPDX-License-Identifier: MIT
/// @file
/// The outcome of an operation of the kernel: a value or an error, and the operation's name.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace tryst::uring {

namespace detail {

/// The part of a result that does not depend on the type of its value.
class result_base {
public:
    /// The error; a default-constructed `std::error_code` if there is none.
    std::error_code error() const noexcept { return error_; }
    /// The name of the operation: "read", "accept", ...
    const char* operation() const noexcept { return operation_; }
    /// Name and error in one line: "openat: No such file or directory".
    std::string message() const { return std::string(operation_) + ": " + error_.message(); }

protected:
    result_base(const char* operation, std::error_code error) noexcept
        : error_(error), operation_(operation) {}

    void require(bool succeeded) const {
        if (!succeeded) {
            throw std::system_error(error_, operation_);
        }
    }

private:
    std::error_code error_;
    const char* operation_;
};

} // namespace detail

/// The outcome of an operation, like `std::expected<T, std::error_code>`, with the operation's
/// name: `error()`, `operation()`, and `message()`, which is both in one line. Errors are those of
/// the kernel, in `std::system_category()`, and compare with `std::errc`. The library itself
/// reports three of any operation: `operation_canceled` after a stop, `timed_out` after a deadline,
/// and `function_not_supported` if the kernel is too old for it.
template <class T = void>
class [[nodiscard]] result : public detail::result_base {
public:
    using value_type = T; ///< The type of the value.

    /// A success.
    result(const char* operation, T&& value) noexcept
        : result_base(operation, {}), value_(std::move(value)) {}
    /// A failure.
    result(const char* operation, std::error_code error) noexcept : result_base(operation, error) {}

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
    T& value() & { return require(has_value()), *value_; }
    const T& value() const& { return require(has_value()), *value_; }
    T&& value() && { return require(has_value()), std::move(*value_); }
    /// @}

private:
    T& checked() noexcept {
        assert(has_value() && "tryst: this operation failed; see error()");
        return *value_;
    }

    std::optional<T> value_;
};

/// The outcome of an operation without a value.
template <>
class [[nodiscard]] result<void> : public detail::result_base {
public:
    using value_type = void; ///< Nothing.

    /// A failure, or a success if `error` is default-constructed.
    explicit result(const char* operation, std::error_code error = {}) noexcept
        : result_base(operation, error) {}

    /// Whether it succeeded.
    bool has_value() const noexcept { return !error(); }
    /// `has_value()`
    explicit operator bool() const noexcept { return has_value(); }

    /// @throws std::system_error with `error()` and the operation's name if it failed.
    void value() const { require(has_value()); }
};

} // namespace tryst::uring
