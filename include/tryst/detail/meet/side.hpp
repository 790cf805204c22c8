// SPDX-License-Identifier: MIT
/// @file
/// The parameters of an exchange: its side, and what can end its wait.
/// Standard library only.
#pragma once

#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/detail/meet/protocol.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/result.hpp>

#include <type_traits>
#include <utility>

namespace tryst::detail {

/// One side of an exchange: the items that it brings and gets (void for none), and where it waits.
template <class WaitList, class Own, class Theirs = Own, colour Colour = colour::none>
struct side {
    using own = object_t<Own>;
    using theirs = object_t<Theirs>;
    using protocol = detail::protocol<WaitList>;
    using waiter = item_waiter<own, theirs, Colour>;
    using result = exchange_result<Theirs, Own>;

    /// Moves the result out of the waiter of a complete exchange.
    static result result_of(waiter& w) noexcept {
        if (w.result == outcome::exchanged) {
            return result(std::move(w.theirs()));
        }
        return result(static_cast<exchange_errc>(w.result), std::move(w.own()));
    }
};

/// The limits of a wait: a deadline if `Timed`, and a stop unless `StopToken` is void.
template <bool Timed, class StopToken = void>
struct limits {
    using token = StopToken;
    static constexpr bool timed = Timed;
    static constexpr bool stoppable = !std::is_void_v<StopToken>;
};

} // namespace tryst::detail
