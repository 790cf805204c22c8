// SPDX-License-Identifier: MIT
/// @file
/// The stop tokens of an operation as one: its own and its receiver's.
/// std::execution or stdexec.
#pragma once

#include <tryst/detail/meet/stop_state.hpp>
#include <tryst/execution/detail/std.hpp>

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

/// The token of an operation with a token of its own (void if it has none) and a receiver; void if
/// neither can request a stop.
template <class Own, class Receiver,
          class Receivers = stops::stop_token_of_t<ex::env_of_t<Receiver>>>
struct combined_token {
    using type = either_stop_token<Own, Receivers>;
    static type make(Own&& own, const Receiver& receiver) noexcept {
        return {std::move(own), stops::get_stop_token(ex::get_env(receiver))};
    }
};
template <class Own, class Receiver, class Receivers>
    requires stops::unstoppable_token<Receivers>
struct combined_token<Own, Receiver, Receivers> {
    using type = Own;
    static type make(Own&& own, const Receiver& /*receiver*/) noexcept { return std::move(own); }
};
template <class Receiver, class Receivers>
struct combined_token<void, Receiver, Receivers> {
    using type = Receivers;
    static type make(const Receiver& receiver) noexcept {
        return stops::get_stop_token(ex::get_env(receiver));
    }
};
template <class Receiver, class Receivers>
    requires stops::unstoppable_token<Receivers>
struct combined_token<void, Receiver, Receivers> {
    using type = void;
};

} // namespace tryst::execution::detail
