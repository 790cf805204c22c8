// SPDX-License-Identifier: MIT
/// @file
/// The results of selections: which case took place, and the result of each case.
/// Standard library only.
#pragma once

#include <tryst/detail/meet/visit_result.hpp>
#include <tryst/result.hpp>

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <tuple>
#include <utility>

namespace tryst {
/// @addtogroup meeting
/// @{

namespace detail {

template <class... Cases>
class case_tuple;
template <class Case>
class case_array;
enum class outcome : std::uint8_t;

} // namespace detail

/// The index of a selection none of whose cases took place.
inline constexpr std::size_t select_npos = static_cast<std::size_t>(-1);

/// The outcome of `select`: which case took place, and an `exchange_result` for each case.
///
/// The result of the case that took place is a success, or `closed` if its exchanger was closed, or
/// `out_of_memory`. All other cases have the error `not_selected` and their own items in
/// `returned()`. If no case took place, all have the reason as their error: `cancelled`,
/// `timed_out`, `no_partner` after `try_select`, or `out_of_memory` if no thread can be started for
/// the deadline.
///
/// @tparam Results  the `exchange_result` of each case, in the order of the arguments.
template <class... Results>
class [[nodiscard]] select_result {
    template <class Self>
    static auto& at(Self& self, std::size_t i) noexcept {
        static_assert(detail::all_same<Results...>,
                      "tryst: get(i) needs cases with results of one type; otherwise use visit");
        if constexpr (detail::all_same<Results...>) {
            assert(i < sizeof...(Results) &&
                   "tryst: there is no such case; check the selection's result");
            return *std::apply([i](auto&... each) { return std::array{&each...}[i]; },
                               self.results_);
        } else {
            return std::get<0>(self.results_);
        }
    }

public:
    /// The index of the case that took place, from 0; `select_npos` if there is none.
    std::size_t index() const noexcept { return index_; }

    /// Whether a case took place, which may have the error `closed` or `out_of_memory`.
    explicit operator bool() const noexcept { return index_ != select_npos; }

    /// @{
    /// The result of case `I`.
    template <std::size_t I>
    auto& get() & noexcept {
        return std::get<I>(results_);
    }
    template <std::size_t I>
    const auto& get() const& noexcept {
        return std::get<I>(results_);
    }
    template <std::size_t I>
    auto&& get() && noexcept {
        return std::get<I>(std::move(results_));
    }
    /// @}

    /// @{
    /// The result of case `i`, if all cases have results of one type.
    auto& get(std::size_t i) & noexcept { return at(*this, i); }
    const auto& get(std::size_t i) const& noexcept { return at(*this, i); }
    auto&& get(std::size_t i) && noexcept { return std::move(at(*this, i)); }
    /// @}

    /// Why no case took place: `cancelled`, `timed_out`, `no_partner` or `out_of_memory`. If one
    /// did, the error of its result: `closed` or none.
    std::error_code error() const noexcept {
        const std::size_t which = *this ? index_ : 0;
        return std::apply(
            [which](const auto&... each) { return std::array{each.error()...}[which]; }, results_);
    }

    /// @{
    /// Calls `f` with the result of the case that took place.
    /// @returns what `f` returns, which must be of one type for all cases. On an rvalue, `f` may
    ///   also return results whose items are of one type `T`, as `std::identity` does: then `visit`
    ///   returns an `exchange_result<T, void>`, and an own item that was handed back stays in
    ///   `*this`.
    /// Precondition: a case took place.
    template <class F>
    decltype(auto) visit(F&& f) & {
        return visit_in(*this, std::forward<F>(f));
    }
    template <class F>
    decltype(auto) visit(F&& f) const& {
        return visit_in(*this, std::forward<F>(f));
    }
    template <class F>
    decltype(auto) visit(F&& f) && {
        return visit_in(std::move(*this), std::forward<F>(f));
    }
    /// @}

private:
    template <class...>
    friend class detail::case_tuple;

    select_result(std::size_t index, Results&&... results) noexcept
        : index_(index), results_(std::move(results)...) {}

    template <class Self, class F>
    static decltype(auto) visit_in(Self&& self, F&& f) {
        assert(self && "tryst: visit needs a case that took place; check the selection's result");
        return detail::visit_result<sizeof...(Results)>(std::forward<Self>(self),
                                                        std::forward<F>(f));
    }

    std::size_t index_;
    std::tuple<Results...> results_;
};

/// The outcome of `select_from`. As `select_result`, for a number of cases that is known only at
/// run time.
template <class Cases>
class [[nodiscard]] select_from_result {
public:
    /// The `exchange_result` of a case.
    using result_type = typename Cases::result_type;

    /// The index of the case that took place, from 0; `select_npos` if there is none.
    std::size_t index() const noexcept { return index_; }

    /// Whether a case took place, which may have the error `closed` or `out_of_memory`.
    explicit operator bool() const noexcept { return index_ != select_npos; }

    /// The number of cases.
    std::size_t size() const noexcept { return cases_.size(); }

    /// As in `select_result`.
    std::error_code error() const noexcept { return cases_.error_of(index_, lost_); }

    /// Moves the result of the case that took place out. Call it once.
    /// Precondition: a case took place.
    result_type get() noexcept {
        assert(*this && "tryst: get needs a case that took place; check the selection's result");
        return (*this)[index_];
    }

    /// Moves the result of case `i` out. Call it once for each case.
    result_type operator[](std::size_t i) noexcept { return cases_.take_result_of(i, lost_); }

private:
    friend Cases;

    select_from_result(std::size_t index, detail::outcome lost, Cases&& cases) noexcept
        : index_(index), lost_(lost), cases_(std::move(cases)) {}

    std::size_t index_;
    detail::outcome lost_;
    Cases cases_;
};

/// @}
} // namespace tryst

// For `auto [first, second] = co_await select(...)`.
template <class... Results>
struct std::tuple_size<tryst::select_result<Results...>> : std::tuple_size<std::tuple<Results...>> {
};
template <std::size_t I, class... Results>
struct std::tuple_element<I, tryst::select_result<Results...>>
    : std::tuple_element<I, std::tuple<Results...>> {};
