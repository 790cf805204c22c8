// SPDX-License-Identifier: MIT
/// @file
/// The result of an exchange: the partner's item, or an error with your own item handed back.
/// Standard library only.
///
/// This header is long because each accessor has an overload for each value category.
#pragma once

#include <tryst/detail/meet/item_requirements.hpp>

#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <memory>
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
    timed_out = 1, ///< The deadline passed.
    cancelled, ///< A stop was requested.
    closed, ///< The exchanger or channel was closed or destroyed.
    no_partner, ///< A `try_` operation found no waiting partner, or a full or empty channel.
    out_of_memory, ///< There was no memory for a waiter or an item, or no thread for a deadline.
    not_selected, ///< Another case of the selection took place.
    unavailable, ///< The meeting place cannot be reached; only with remote exchangers.
    in_doubt, ///< The partner may have the item; only with remote exchangers.
};

/// The category of `exchange_errc`. Errors also compare equal to the `std::errc` that they
/// resemble: `timed_out`, `operation_canceled`, `operation_would_block` for `no_partner`, and
/// `not_enough_memory`. It has default visibility, so that a program and its shared libraries share
/// one category. A plugin may have another (docs/install.md), so compare an error with an
/// `exchange_errc`, not with another error or its category with this one.
[[gnu::visibility("default")]] inline const std::error_category& exchange_category() noexcept {
    class category final : public std::error_category {
    public:
        const char* name() const noexcept override { return "tryst.exchange"; }

        std::string message(int value) const override {
            switch (static_cast<exchange_errc>(value)) {
            case exchange_errc::timed_out:
                return "the deadline passed";
            case exchange_errc::cancelled:
                return "a stop was requested";
            case exchange_errc::closed:
                return "the exchanger, channel or future is closed";
            case exchange_errc::no_partner:
                return "the operation would have to wait";
            case exchange_errc::out_of_memory:
                return "there is no memory for a waiter or an item, or no thread for a deadline";
            case exchange_errc::not_selected:
                return "another case of the selection took place";
            case exchange_errc::unavailable:
                return "the meeting place cannot be reached, and nothing was offered";
            case exchange_errc::in_doubt:
                return "the outcome is unknown: a partner may have the item";
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
            case exchange_errc::not_selected:
            case exchange_errc::unavailable:
            case exchange_errc::in_doubt:
                break;
            }
            return {value, *this};
        }
    };
    static const category instance;
    return instance;
}

/// The error as a `std::error_code` of `exchange_category`.
inline std::error_code make_error_code(exchange_errc error) noexcept {
    return {static_cast<int>(error), exchange_category()};
}

/// Whether `error` is `value`. It may come from a plugin, which has a category of its own.
template <std::same_as<std::error_code> Code>
bool operator==(const Code& error, exchange_errc value) noexcept {
    return error.value() == static_cast<int>(value) &&
           (error.category() == exchange_category() ||
            std::strcmp(error.category().name(), exchange_category().name()) == 0);
}

namespace detail {

inline constexpr std::in_place_index_t<0> of_partner{};
inline constexpr std::in_place_index_t<1> of_caller{};

/// Either of two items: the partner's or one's own. No constructor has only an item as its
/// parameter: to know whether such a class can be copied, the compiler would ask whether it
/// converts to the item; and `std::any`, for example, whether the class can be copied.
template <class Theirs, class Own>
class either_item {
public:
    template <std::size_t I, class U>
    either_item(std::in_place_index_t<I> which, U&& item) : item_(which, std::forward<U>(item)) {}

    Theirs& theirs() noexcept { return *std::get_if<0>(&item_); }
    Own& own() noexcept { return *std::get_if<1>(&item_); }

private:
    std::variant<Theirs, Own> item_;
};
template <class T>
class either_item<T, T> {
public:
    template <std::size_t I, class U>
    either_item(std::in_place_index_t<I> /*which*/, U&& item) : item_(std::forward<U>(item)) {}

    T& theirs() noexcept { return item_; }
    T& own() noexcept { return item_; }

private:
    T item_;
};

} // namespace detail

template <class T, class Own = T>
class exchange_result;

namespace detail {

template <class>
inline constexpr bool is_result = false;
template <class T, class Own>
inline constexpr bool is_result<exchange_result<T, Own>> = true;

template <class R, class T>
inline constexpr bool is_result_of = false;
template <class T, class Own>
inline constexpr bool is_result_of<exchange_result<T, Own>, T> = true;

/// Whether a `U` is no result of a `T`, but converts to the item `Item`. The order matters (see
/// `either_item`).
template <class U, class T, class Item>
concept converts_to_item = !is_result_of<std::remove_cvref_t<U>, T> && std::convertible_to<U, Item>;

template <class T>
concept comparable = std::is_void_v<T> || std::equality_comparable<T>;

} // namespace detail

/// The outcome of one exchange: like `std::expected<T, std::error_code>`, except that a failure
/// also hands your own item back. It holds exactly one of the two items: `*result` after success,
/// `result.returned()` after failure. An assertion fails if you access the other.
///
/// @tparam T    the partner's item, or void if it brings none.
/// @tparam Own  your own item, or void if you bring none.
template <class T, class Own>
class [[nodiscard]] exchange_result {
    template <class, class>
    friend class exchange_result;
    using theirs_t = detail::object_t<T>;
    using own_t = detail::object_t<Own>;

public:
    using value_type = T; ///< The type of the partner's item.
    using returned_type = Own; ///< The type of the item that a failure hands back.
    using error_type = std::error_code; ///< An error code of `exchange_category`.

    /// A success that holds the partner's item, by move, copy or conversion.
    template <class U = theirs_t>
        requires detail::converts_to_item<U, T, theirs_t>
    explicit exchange_result(U&& partners) noexcept(std::is_nothrow_constructible_v<theirs_t, U>)
        : item_(detail::of_partner, std::forward<U>(partners)) {}

    /// A failure that holds your own item.
    exchange_result(exchange_errc error, own_t&& own) noexcept
        : item_(detail::of_caller, std::move(own)), error_(error) {}

    /// As `other`, but a failure hands no item back. It stays in `other`.
    template <class Other>
        requires(std::is_void_v<Own> && !std::is_void_v<Other>)
    explicit exchange_result(exchange_result<T, Other>&& other) noexcept
        : item_(other.has_value() ? item(detail::of_partner, std::move(other.item_.theirs()))
                                  : item(detail::of_caller, own_t())),
          error_(other.error_) {}

    /// Whether the exchange succeeded, so that the partner's item is inside.
    bool has_value() const noexcept { return error_ == success; }
    /// Same as `has_value()`.
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
        return std::addressof(partners());
    }
    const theirs_t* operator->() const noexcept
        requires(!std::is_void_v<T>)
    {
        return std::addressof(**this);
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

    /// The reason for the failure; a default-constructed `std::error_code` after success.
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

    /// @{
    /// The partner's item, or `other` after a failure. It does not return your own item, which
    /// stays in the result.
    template <class U>
        requires(!std::is_void_v<T>)
    T value_or(U&& other) const& {
        return has_value() ? **this : static_cast<T>(std::forward<U>(other));
    }
    template <class U>
        requires(!std::is_void_v<T>)
    T value_or(U&& other) && {
        return has_value() ? *std::move(*this) : static_cast<T>(std::forward<U>(other));
    }
    /// @}

private:
    using item = detail::either_item<theirs_t, own_t>;
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

    item item_;
    exchange_errc error_ = success;
};

/// Whether both succeeded with equal items, or failed for the same reason with equal items.
template <detail::comparable T, detail::comparable Own>
bool operator==(const exchange_result<T, Own>& a, const exchange_result<T, Own>& b) {
    if (a.error() != b.error()) {
        return false;
    }
    if (a.has_value()) {
        if constexpr (!std::is_void_v<T>) {
            return *a == *b;
        }
    } else if constexpr (!std::is_void_v<Own>) {
        return a.returned() == b.returned();
    }
    return true;
}

/// Whether the exchange succeeded with an item equal to `value`.
template <class T, class Own, class Value>
    requires(!std::is_void_v<T> && !detail::is_result<Value>)
bool operator==(const exchange_result<T, Own>& result, const Value& value)
    requires requires {
        { *result == value } -> std::convertible_to<bool>;
    }
{
    return result.has_value() && *result == value;
}

/// Whether the exchange failed with `error`. Never compares items, even items of type
/// `exchange_errc`.
template <class T, class Own>
bool operator==(const exchange_result<T, Own>& result, exchange_errc error) noexcept {
    return result.error() == error;
}

/// @}
} // namespace tryst

template <>
struct std::is_error_code_enum<tryst::exchange_errc> : std::true_type {};
