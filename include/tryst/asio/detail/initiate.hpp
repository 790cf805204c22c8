// SPDX-License-Identifier: MIT
/// @file
/// Starts an operation, with a readable error for a handler that cannot be called.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>

#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/// Always false. The compiler quotes the template arguments in its error.
template <class Token, class Signature>
constexpr bool not_a_token_for = false;

/// Calls `net::async_initiate`. Checks its constraint first, because Asio's own error is long.
template <class Signature, class Token, class Initiation, class... Arguments>
auto initiate(Initiation&& initiation, Token& token, Arguments&&... arguments) {
    if constexpr (requires {
                      net::async_initiate<Token, Signature>(std::forward<Initiation>(initiation),
                                                            token,
                                                            std::forward<Arguments>(arguments)...);
                  }) {
        return net::async_initiate<Token, Signature>(std::forward<Initiation>(initiation), token,
                                                     std::forward<Arguments>(arguments)...);
    } else {
        static_assert(not_a_token_for<Token, Signature>,
                      "tryst: the last argument must be a completion token for this signature, or "
                      "a handler that can be called with its parameters");
    }
}

} // namespace detail
TRYST_ASIO_END
