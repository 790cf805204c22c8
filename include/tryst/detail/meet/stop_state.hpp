// SPDX-License-Identifier: MIT
/// @file
/// The stop token of an operation, and the callback that later takes its place.
/// Standard library only.
#pragma once

#include <tryst/detail/platform/atomic.hpp>

#include <utility>

namespace tryst::detail {

/// The callback type of a stop token. Has no member `type` if `StopToken` is not a stop token.
template <class StopToken, class Callback>
struct callback_of {};
template <class StopToken, class Callback>
    requires requires { typename StopToken::template callback_type<Callback>; }
struct callback_of<StopToken, Callback> {
    using type = typename StopToken::template callback_type<Callback>;
};
template <class Callback>
struct callback_of<stop_token, Callback> {
    using type = stop_callback<Callback>;
};

/// The token or the callback. The operation knows which one is alive, and destroys it.
template <class StopToken, class Callback>
struct stop_state {
    explicit stop_state(StopToken&& given) noexcept : token(std::move(given)) {}
    stop_state(const stop_state&) = delete;
    stop_state& operator=(const stop_state&) = delete;
    ~stop_state() {}

    union {
        StopToken token;
        typename callback_of<StopToken, Callback>::type callback;
    };
};
template <class Callback>
struct stop_state<void, Callback> {};

} // namespace tryst::detail
