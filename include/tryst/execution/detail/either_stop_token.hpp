// SPDX-License-Identifier: MIT
/// @file
/// The stop tokens of an operation as one: its own and its receiver's.
/// std::execution or stdexec.
#pragma once

#include <tryst/detail/meet/stop_state.hpp>
#include <tryst/detail/meet/taken_operation.hpp>
#include <tryst/execution/detail/std.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace tryst::execution::detail {

/// A stop token that requests a stop as soon as one of two does. If both do, it calls the callback
/// twice, perhaps at the same time. An operation permits that, because a stop and a deadline may
/// end a wait at the same time, too.
template <class First, class Second>
struct either_stop_token {
    First first;
    Second second;

    bool stop_requested() const noexcept {
        return first.stop_requested() || second.stop_requested();
    }
    bool stop_possible() const noexcept { return first.stop_possible() || second.stop_possible(); }

    template <class Callback>
    struct callback_type {
        explicit callback_type(either_stop_token&& token, const Callback& callback) noexcept
            : first(std::move(token.first), callback), second(std::move(token.second), callback) {}

        typename tryst::detail::callback_of<First, Callback>::type first;
        typename tryst::detail::callback_of<Second, Callback>::type second;
    };
};

/// The stop token of an operation with its own token and this receiver. `no_token` means none.
template <class Own, class Receiver>
auto combine_tokens(Own&& own, const Receiver& receiver) noexcept {
    using receivers = stops::stop_token_of_t<ex::env_of_t<Receiver>>;
    if constexpr (stops::unstoppable_token<receivers>) {
        return std::forward<Own>(own);
    } else if constexpr (std::same_as<std::remove_cvref_t<Own>, tryst::detail::no_token>) {
        return stops::get_stop_token(ex::get_env(receiver));
    } else {
        return either_stop_token<std::remove_cvref_t<Own>, receivers>{
            std::forward<Own>(own), stops::get_stop_token(ex::get_env(receiver))};
    }
}
template <class Own, class Receiver>
using combined_token =
    decltype(detail::combine_tokens(std::declval<Own>(), std::declval<const Receiver&>()));

} // namespace tryst::execution::detail
