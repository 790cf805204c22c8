// SPDX-License-Identifier: MIT
/// @file
/// What distinguishes one kind of exchange from another: its side, and what can end its wait.
/// Standard library only.
#pragma once

#include <tryst/detail/meet/item.hpp>
#include <tryst/detail/meet/protocol.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/result.hpp>

#include <type_traits>
#include <utility>

namespace tryst::detail {

/// One side of an exchange: what it brings and gets (void for nothing), and where it waits.
template <class WaitList, class Own, class Theirs = Own, colour Colour = colour::none>
struct side {
    using own = object_t<Own>;
    using theirs = object_t<Theirs>;
    using protocol = detail::protocol<WaitList>;
    using waiter = item_waiter<own, theirs, Colour>;
    using result = exchange_result<Theirs, Own>;

    /// The result of an exchange that is complete, by moving its item out.
    static result result_of(waiter& w) noexcept {
        if (w.result == outcome::exchanged) {
            return result(std::move(w.theirs()));
        }
        return result(static_cast<exchange_errc>(w.result), std::move(w.own()));
    }
};

/// What can end a wait besides a partner and a close: a deadline, and a stop unless `StopToken` is void.
template <bool Timed, class StopToken = void>
struct limits {
    using token = StopToken;
    static constexpr bool timed = Timed;
    static constexpr bool stoppable = !std::is_void_v<StopToken>;
};

} // namespace tryst::detail
