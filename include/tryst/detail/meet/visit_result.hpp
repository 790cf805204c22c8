// SPDX-License-Identifier: MIT
/// @file
/// How the results of selections and of sets call a function with the result of the case that took
/// place.
/// Standard library only. Never allocates.
#pragma once

#include <tryst/result.hpp>

#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

namespace tryst::detail {

template <class First, class... Rest>
inline constexpr bool all_same = (std::is_same_v<First, Rest> && ...);

/// What `visit` returns if its function returns `First` and `Rest` for the cases.
template <class First, class... Rest>
struct visit_return {
    using type = First;
    static constexpr bool is_common = all_same<First, Rest...>;
};

/// Results whose items are of one type need not agree on the item that a failure hands back.
template <class First, class... Rest>
    requires(!all_same<First, Rest...> && is_result<std::remove_cvref_t<First>>)
struct visit_return<First, Rest...> {
    using item = typename std::remove_cvref_t<First>::value_type;
    using type = exchange_result<item, void>;
    static constexpr bool is_common = (is_result_of<std::remove_cvref_t<Rest>, item> && ...) &&
                                      std::is_constructible_v<type, First> &&
                                      (std::is_constructible_v<type, Rest> && ...);
};

template <std::size_t I, std::size_t Count, class Returned, class Self, class F>
Returned visit_result_from(Self&& self, F&& f) {
    if constexpr (I + 1 != Count) {
        if (self.index() != I) {
            return detail::visit_result_from<I + 1, Count, Returned>(std::forward<Self>(self),
                                                                     std::forward<F>(f));
        }
    }
    return static_cast<Returned>(
        std::invoke(std::forward<F>(f), std::forward<Self>(self).template get<I>()));
}

/// Calls `f` with the result at `self.index()`, one of `self.get<0>()` to `self.get<Count - 1>()`.
template <std::size_t Count, class Self, class F>
decltype(auto) visit_result(Self&& self, F&& f) {
    return [&]<std::size_t... I>(std::index_sequence<I...> /*cases*/) -> decltype(auto) {
        constexpr bool accepts_all =
            (std::is_invocable_v<F, decltype(std::forward<Self>(self).template get<I>())> && ...);
        static_assert(accepts_all,
                      "tryst: visit calls its function with the exchange_result of any case");
        if constexpr (accepts_all) {
            using returned = visit_return<
                std::invoke_result_t<F, decltype(std::forward<Self>(self).template get<I>())>...>;
            static_assert(returned::is_common,
                          "tryst: the function of visit must return the same type for each case; "
                          "otherwise switch over index()");
            if constexpr (returned::is_common) {
                return detail::visit_result_from<0, Count, typename returned::type>(
                    std::forward<Self>(self), std::forward<F>(f));
            }
        }
    }(std::make_index_sequence<Count>());
}

} // namespace tryst::detail
