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
#include <variant>

namespace tryst {
/// @addtogroup meeting
/// @{

/// Why an exchange did not take place.
enum class exchange_errc : unsigned char {
    timed_out = 1, ///< The deadline passed and no partner had come.
    cancelled, ///< A stop was requested before a partner came.
    closed, ///< The exchanger was closed or destroyed.
    no_partner, ///< `try_exchange`, or another `try_` operation, found nobody waiting.
    out_of_memory, ///< More parties of one colour wait than ever before, and no room could be made.
};

/// The category of `exchange_errc`. Errors also compare equal to the `std::errc` they resemble:
/// timed_out, operation_canceled, operation_would_block for `no_partner`, and not_enough_memory.
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
            case exchange_errc::out_of_memory:
                return "there is no memory for one more to wait";
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
            case exchange_errc::out_of_memory:
                return std::errc::not_enough_memory;
            case exchange_errc::closed:
                break;
            }
            return {value, *this};
        }
    };
    static const category instance;
    return instance;
}

/// The error as a `std::error_code`, of `exchange_category`.
inline std::error_code make_error_code(exchange_errc error) noexcept {
    return {static_cast<int>(error), exchange_category()};
}

namespace detail {

/// What stands for an item where there is none.
struct nothing {};

template <class T>
using object_t = std::conditional_t<std::is_void_v<T>, nothing, T>;

/// One of two items: the partner's or the own one.
template <class Theirs, class Own>
class either_item {
public:
    explicit either_item(Theirs&& item) noexcept : item_(std::in_place_index<0>, std::move(item)) {}
    explicit either_item(Own&& item) noexcept : item_(std::in_place_index<1>, std::move(item)) {}

    Theirs& theirs() noexcept { return std::get_if<0>(&item_)->get(); }
    Own& own() noexcept { return std::get_if<1>(&item_)->get(); }

private:
    std::variant<item<Theirs>, item<Own>> item_;
};
template <class T>
class either_item<T, T> {
public:
    explicit either_item(T&& value) noexcept : item_(std::move(value)) {}

    T& theirs() noexcept { return item_.get(); }
    T& own() noexcept { return item_.get(); }

private:
    item<T> item_;
};

} // namespace detail

/// The outcome of one exchange: like `std::expected<T, std::error_code>`, except that a failure also
/// hands your own item back. Exactly one of the two is inside: `*result` after success,
/// `result.returned()` after failure. Taking the wrong one is a misuse, caught by assert.
///
/// @tparam T    the partner's item, or void if it brings none.
/// @tparam Own  the caller's own item, or void if it brings none.
template <class T, class Own = T>
class [[nodiscard]] exchange_result {
    using theirs_t = detail::object_t<T>;
    using own_t = detail::object_t<Own>;

public:
    using value_type = T; ///< What the partner brings.
    using returned_type = Own; ///< What comes back after a failure.
    using error_type = std::error_code; ///< Of `exchange_category`.

    /// A success that holds the partner's item.
    explicit exchange_result(theirs_t&& partners) noexcept : item_(std::move(partners)) {}

    /// A failure that holds the caller's own item.
    exchange_result(exchange_errc error, own_t&& own) noexcept
        : item_(std::move(own)), error_(error) {}

    /// Whether there was a partner, whose item is inside.
    bool has_value() const noexcept { return error_ == success; }
    /// `has_value()`
    explicit operator bool() const noexcept { return has_value(); }

    /// @{
    /// The partner's item. Precondition: `has_value()`.
    theirs_t& operator*() & noexcept
        requires(!std::is_void_v<T>)
    {
        return partners();
    }
    const theirs_t& operator*() const& noexcept
        requires(!std::is_void_v<T>)
    {
        return const_cast<exchange_result*>(this)->partners();
    }
    theirs_t&& operator*() && noexcept
        requires(!std::is_void_v<T>)
    {
        return std::move(partners());
    }
    theirs_t* operator->() noexcept
        requires(!std::is_void_v<T>)
    {
        return &partners();
    }
    const theirs_t* operator->() const noexcept
        requires(!std::is_void_v<T>)
    {
        return &**this;
    }
    /// @}

    /// @{
    /// The partner's item.
    /// @throws std::system_error with `error()` if there is none.
    theirs_t& value() & noexcept(false)
        requires(!std::is_void_v<T>)
    {
        throw_if_failed();
        return partners();
    }
    const theirs_t& value() const& noexcept(false)
        requires(!std::is_void_v<T>)
    {
        throw_if_failed();
        return **this;
    }
    theirs_t&& value() && noexcept(false)
        requires(!std::is_void_v<T>)
    {
        throw_if_failed();
        return std::move(partners());
    }
    void value() const& noexcept(false)
        requires(std::is_void_v<T>)
    {
        throw_if_failed();
    }
    /// @}

    /// The reason of the failure; a default-constructed `std::error_code` after success.
    std::error_code error() const noexcept {
        return has_value() ? std::error_code() : make_error_code(error_);
    }

    /// @{
    /// Your own item, handed back. Precondition: `!has_value()`.
    own_t& returned() & noexcept
        requires(!std::is_void_v<Own>)
    {
        return own();
    }
    const own_t& returned() const& noexcept
        requires(!std::is_void_v<Own>)
    {
        return const_cast<exchange_result*>(this)->own();
    }
    own_t&& returned() && noexcept
        requires(!std::is_void_v<Own>)
    {
        return std::move(own());
    }
    /// @}

private:
    static constexpr exchange_errc success{};

    void throw_if_failed() const {
        if (!has_value()) {
            throw std::system_error(error());
        }
    }

    theirs_t& partners() noexcept {
        assert(has_value() && "tryst: this exchange failed; its item is in returned()");
        return item_.theirs();
    }

    own_t& own() noexcept {
        assert(!has_value() && "tryst: this exchange succeeded; the partner's item is in *result");
        return item_.own();
    }

    detail::either_item<theirs_t, own_t> item_;
    exchange_errc error_ = success;
};

/// @}
} // namespace tryst

template <>
struct std::is_error_code_enum<tryst::exchange_errc> : std::true_type {};
