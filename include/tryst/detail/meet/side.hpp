// SPDX-License-Identifier: MIT
/// @file
/// One side of an exchange: its items, and where it waits.
/// Standard library only.
#pragma once

#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/detail/meet/observer.hpp>
#include <tryst/detail/meet/steps.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/result.hpp>

#include <utility>

namespace tryst::detail {

/// One side of an exchange: the items that it brings and gets (void for none), where it waits, and
/// who observes it.
template <class WaitList, class Own, class Theirs = Own, colour Colour = colour::none,
          class Observer = observer<>>
struct side {
    using own = object_t<Own>;
    using theirs = object_t<Theirs>;
    using protocol = detail::protocol<WaitList, Observer>; ///< protocol.hpp lists them.
    using observer = Observer;
    using waiter = item_waiter<own, theirs, Colour, typename Observer::waiter>;
    using result = exchange_result<Theirs, Own>;

    /// Moves the result out of the waiter of a complete exchange.
    static result result_of(waiter& w) noexcept {
        if (w.result == outcome::exchanged) {
            return result(std::move(w.theirs()));
        }
        return result(static_cast<exchange_errc>(w.result), std::move(w.own()));
    }
};

} // namespace tryst::detail
