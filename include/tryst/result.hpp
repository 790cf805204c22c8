// SPDX-License-Identifier: MIT
/// @file
/// What an exchange returns: the partner's item, or an error and your own item back.
/// Standard library only.
#pragma once

#include <tryst/detail/item.hpp>

#include <cassert>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace tryst {

/// Why an exchange did not take place.
enum class exchange_errc : unsigned char {
    timed_out = 1, ///< The deadline passed and no partner had come.
    cancelled, ///< A stop was requested before a partner came.
    closed, ///< The exchanger was closed or destroyed.
    no_partner, ///< `try_exchange` found nobody waiting.
};

/// The category of `exchange_errc`. Errors also compare equal to the `std::errc` they resemble:
/// timed_out, operation_canceled, and operation_would_block for `no_partner`.
inline const std::error_category& exchange_category() noexcept {
    class category final : public std::error_category {
    public:
        const char* name() const noexcept override { return "tryst.exchange"; }

        std::string message(int value) const override {
            switch (static_cast<exchange_errc>(value)) {
            case exchange_errc::timed_out:
                return "the deadline passed before a partner came";
            case exchange_errc::cancelled:
                return "a stop was requested before a partner came";
            case exchange_errc::closed:
                return "the exchanger is closed";
            case exchange_errc::no_partner:
                return "no partner is waiting";
            }
            return value == 0 ? "success" : "unknown exchange error";
        }

        std::error_condition default_error_condition(int value) const noexcept override {
            switch (static_cast<exchange_errc>(value)) {
            case exchange_errc::timed_out:
                return std::errc::timed_out;
            case exchange_errc::cancelled:
                return std::errc::operation_canceled;
            case exchange_errc::no_partner:
                return std::errc::operation_would_block;
            case exchange_errc::closed:
                break;
            }
            return {value, *this};
        }
    };
    static const category instance;
    return instance;
}

inline std::error_code make_error_code(exchange_errc error) noexcept {
    return {static_cast<int>(error), exchange_category()};
}

/// The outcome of one exchange: like `std::expected<T, std::error_code>`, except that a failure also
/// hands your own item back. Exactly one of the two is inside: `*result` after success,
/// `result.returned()` after failure. Taking the wrong one is a misuse, caught by assert.
template <class T>
class [[nodiscard]] exchange_result {
public:
    using value_type = T;
    using error_type = std::error_code;

    /// A success that holds the partner's item.
    explicit exchange_result(T&& partners) noexcept : item_(std::move(partners)) {}

    /// A failure that holds the caller's own item.
    exchange_result(exchange_errc error, T&& own) noexcept : item_(std::move(own)), error_(error) {}

    bool has_value() const noexcept { return error_ == success; }
    explicit operator bool() const noexcept { return has_value(); }

    /// The partner's item. Precondition: `has_value()`.
    T& operator*() & noexcept { return partners(); }
    const T& operator*() const& noexcept { return const_cast<exchange_result*>(this)->partners(); }
    T&& operator*() && noexcept { return std::move(partners()); }
    T* operator->() noexcept { return &partners(); }
    const T* operator->() const noexcept { return &**this; }

    /// The partner's item.
    /// @throws std::system_error with `error()` if there is none.
    T& value() & { return require(), partners(); }
    const T& value() const& { return require(), **this; }
    T&& value() && { return require(), std::move(partners()); }

    /// The reason of the failure; a default-constructed `std::error_code` after success.
    std::error_code error() const noexcept {
        return has_value() ? std::error_code() : make_error_code(error_);
    }

    /// Your own item, handed back. Precondition: `!has_value()`.
    T& returned() & noexcept { return own(); }
    const T& returned() const& noexcept { return const_cast<exchange_result*>(this)->own(); }
    T&& returned() && noexcept { return std::move(own()); }

private:
    static constexpr exchange_errc success{};

    void require() const {
        if (!has_value()) {
            throw std::system_error(error());
        }
    }

    T& partners() noexcept {
        assert(has_value() && "tryst: this exchange failed; its item is in returned()");
        return item_.get();
    }

    T& own() noexcept {
        assert(!has_value() && "tryst: this exchange succeeded; the partner's item is in *result");
        return item_.get();
    }

    detail::item<T> item_;
    exchange_errc error_ = success;
};

} // namespace tryst

template <>
struct std::is_error_code_enum<tryst::exchange_errc> : std::true_type {};
