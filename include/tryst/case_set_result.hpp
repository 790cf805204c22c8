// SPDX-License-Identifier: MIT
/// @file
/// The results of a set of cases.
/// Standard library only.
#pragma once

#include <tryst/detail/meet/visit_result.hpp>
#include <tryst/result.hpp>

#include <cassert>
#include <cstddef>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

namespace tryst {
/// @addtogroup meeting
/// @{

namespace detail {

struct case_node;
template <class Token, class... Sides>
class standing_cases;

} // namespace detail

/// Refers to a case of a `case_set`, until the case leaves it. Small, and can be copied.
/// @tparam Result  the `exchange_result` of the case.
template <class Result>
class case_handle {
public:
    /// Refers to no case.
    case_handle() = default;
    /// Whether both refer to the same case.
    bool operator==(const case_handle&) const noexcept = default;

private:
    template <class, class...>
    friend class case_set;
    template <class, class...>
    friend class case_set_result;

    explicit case_handle(detail::case_node& of) noexcept : node_(&of) {}

    detail::case_node* node_ = nullptr;
};

/// The outcome of one call to `case_set::next`: the case that took place, with its token, or none.
/// @tparam Results  the `exchange_result` of each type of case.
template <class Token, class... Results>
class [[nodiscard]] case_set_result {
    template <std::size_t I>
    using result_at = std::variant_alternative_t<I, std::variant<Results...>>;

public:
    /// Whether a case took place, which may have the error `closed`, `out_of_memory`, or,
    /// after `channel::cancel`, `cancelled`.
    explicit operator bool() const noexcept { return node_ != nullptr; }

    /// If a case took place: the error of its result. Otherwise why none did: `cancelled` or
    /// `timed_out`, by the limits; `no_partner`, if the set is empty, if all its cases are idle, or
    /// for `try_next`; `out_of_memory`, if no thread can be started for the deadline.
    std::error_code error() const noexcept {
        return *this ? std::visit(
                           [](const auto& of) {
                               if constexpr (requires { of.error(); }) {
                                   return of.error();
                               } else {
                                   return std::error_code();
                               }
                           },
                           result_)
                     : make_error_code(lost_);
    }

    /// The token of the case that took place. Precondition, here and below: one did.
    const Token& token() const noexcept {
        assert(*this && "tryst: no case took place; check the result of next");
        return *token_;
    }

    /// The index of its type among the set's types of cases.
    std::size_t index() const noexcept {
        assert(*this && "tryst: no case took place; check the result of next");
        return result_.index() - 1;
    }

    /// Its result. Precondition: `index() == I`.
    template <std::size_t I = 0>
    result_at<I>& get() noexcept {
        static_assert(I < sizeof...(Results), "tryst: the set has no such type of cases");
        assert(*this && index() == I && "tryst: get<I> needs a case of that type; check index()");
        return *std::get_if<I + 1>(&result_);
    }

    /// Calls `f` with its result.
    /// @returns what `f` returns, which must be of one type for all types of cases.
    template <class F>
    decltype(auto) visit(F&& f) {
        assert(*this && "tryst: no case took place; check the result of next");
        return detail::visit_result<sizeof...(Results)>(*this, std::forward<F>(f));
    }

    /// Its handle, for `rearm` and `remove`. If the case is `closed`, the handle is invalid.
    template <std::size_t I = 0>
    case_handle<result_at<I>> handle() const noexcept {
        assert(*this && index() == I && "tryst: handle<I> needs a case of that type");
        return case_handle<result_at<I>>(*node_);
    }

private:
    template <class, class...>
    friend class detail::standing_cases;

    explicit case_set_result(exchange_errc lost) noexcept : lost_(lost) {}
    template <class Case>
    case_set_result(Case& of, std::size_t index, bool leaves) noexcept
        : node_(&of), token_(leaves ? std::move(of.token) : of.token) {
        [&]<std::size_t... I>(std::index_sequence<I...> /*types*/) {
            static_cast<void>(((I == index && emplace<I + 1>(of)) || ...));
        }(std::index_sequence_for<Results...>());
    }

    template <std::size_t I, class Case>
    bool emplace(Case& of) noexcept {
        if constexpr (std::is_same_v<typename Case::result, result_at<I - 1>>) {
            result_.template emplace<I>(of.take_result());
        }
        return true;
    }

    detail::case_node* node_ = nullptr;
    std::optional<Token> token_;
    std::variant<std::monostate, Results...> result_;
    exchange_errc lost_{};
};

/// @}
} // namespace tryst
