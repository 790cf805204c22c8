// SPDX-License-Identifier: MIT
/// @file
/// Items that can be made from anything, or from results, or only moved.
#pragma once

#include <tryst/result.hpp>

#include <gtest/gtest.h>

#include <any>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace stranger {

/// Can be made from anything, without a constraint.
struct greedy {
    greedy() noexcept = default;
    greedy(const greedy&) = default;
    greedy(greedy&&) noexcept = default;
    greedy& operator=(const greedy&) = default;
    greedy& operator=(greedy&&) noexcept = default;
    template <class T>
    greedy(T&& value) { // NOLINT(bugprone-forwarding-reference-overload): that is what it is for
        if constexpr (std::is_same_v<std::remove_cvref_t<T>, int>) {
            number = value;
        } else {
            ADD_FAILURE() << "an item was made from something else";
        }
    }
    int number = 0;
};

/// The same, but it can only be moved.
struct greedy_unique : greedy {
    using greedy::greedy;
    greedy_unique(greedy_unique&& other) noexcept : greedy(static_cast<greedy&&>(other)) {}
    greedy_unique& operator=(greedy_unique&&) noexcept = default;
    greedy_unique() noexcept = default;
};

/// Can be made from anything that can be copied, as `std::any` can.
struct holder {
    holder() noexcept = default;
    template <class T, class = std::enable_if_t<
                           std::conjunction_v<std::negation<std::is_same<std::decay_t<T>, holder>>,
                                              std::is_copy_constructible<std::decay_t<T>>>>>
    holder(T&& value) : held(std::forward<T>(value)) {}
    std::any held;
};

/// Makes an item from a number, and tells the number.
template <class T>
struct sample {
    static T make(int n) {
        T made{};
        made.number = n;
        return made;
    }
    static int number(const T& item) { return item.number; }
};
template <>
struct sample<std::any> {
    static std::any make(int n) { return n; }
    static int number(const std::any& item) { return std::any_cast<int>(item); }
};
template <>
struct sample<holder> {
    static holder make(int n) { return n; }
    static int number(const holder& item) { return std::any_cast<int>(item.held); }
};
template <>
struct sample<std::function<int()>> {
    static std::function<int()> make(int n) {
        return [n] { return n; };
    }
    static int number(const std::function<int()>& item) { return item(); }
};
template <>
struct sample<std::unique_ptr<int>> {
    static std::unique_ptr<int> make(int n) { return std::make_unique<int>(n); }
    static int number(const std::unique_ptr<int>& item) { return *item; }
};
template <class T>
struct sample<std::optional<T>> {
    static std::optional<T> make(int n) {
        return std::optional<T>(std::in_place, sample<T>::make(n));
    }
    static int number(const std::optional<T>& item) { return sample<T>::number(*item); }
};
template <class T>
struct sample<std::tuple<T>> {
    static std::tuple<T> make(int n) { return std::tuple<T>(sample<T>::make(n)); }
    static int number(const std::tuple<T>& item) { return sample<T>::number(std::get<0>(item)); }
};
template <class T>
struct sample<std::tuple<T, int>> {
    static std::tuple<T, int> make(int n) { return {sample<T>::make(n), n}; }
    static int number(const std::tuple<T, int>& item) { return std::get<1>(item); }
};
template <class T>
struct sample<std::variant<int, T>> {
    static std::variant<int, T> make(int n) {
        return std::variant<int, T>(std::in_place_index<1>, sample<T>::make(n));
    }
    static int number(const std::variant<int, T>& item) {
        return sample<T>::number(std::get<1>(item));
    }
};
template <class T>
struct sample<tryst::exchange_result<T>> {
    static tryst::exchange_result<T> make(int n) {
        return tryst::exchange_result<T>(sample<T>::make(n));
    }
    static int number(const tryst::exchange_result<T>& item) { return sample<T>::number(*item); }
};
template <>
struct sample<tryst::exchange_errc> {
    static tryst::exchange_errc make(int n) { return static_cast<tryst::exchange_errc>(n); }
    static int number(const tryst::exchange_errc& item) { return static_cast<int>(item); }
};
template <class T>
int number_of(const T& item) {
    return sample<T>::number(item);
}

template <class T>
T make(int n) {
    return sample<T>::make(n);
}

using items = ::testing::Types<std::any, holder, greedy, greedy_unique, std::function<int()>,
                               std::unique_ptr<int>, std::optional<std::any>, std::tuple<std::any>,
                               std::tuple<std::unique_ptr<int>, int>, std::variant<int, std::any>,
                               tryst::exchange_result<std::any>, tryst::exchange_errc>;

/// One for each way to make an item from too much: for what takes long to compile.
using few_items = ::testing::Types<holder, greedy_unique, std::function<int()>,
                                   std::tuple<std::any>, tryst::exchange_result<std::any>>;

} // namespace stranger
