// SPDX-License-Identifier: MIT
/// @file
/// Access to the slots inside an exchanger. Tests grow the arena, which otherwise takes a race, and
/// see which slots have a waiter.
#pragma once

#include "support/tracked.hpp"

#include <tryst/detail/meet/arena.hpp>
#include <tryst/detail/meet/single_slot.hpp>
#include <tryst/detail/meet/swap.hpp>
#include <tryst/exchanger.hpp>

#include <thread>

namespace tryst::test {

using arena = detail::basic_arena<detail::single_slot>;

arena& arena_of(detail::protocol<detail::single_slot>& protocol) noexcept;
arena& arena_of(exchanger<int>& ex) noexcept;
arena& arena_of(exchanger<tracked>& ex) noexcept;

/// Makes `times` more slots available to arrivals. With one, every thread's slot is slot 1.
template <class Owner>
void grow(Owner& owner, int times = 1) noexcept {
    for (int i = 0; i != times; ++i) {
        arena_of(owner).collided();
    }
}

/// The highest slot in use.
template <class Owner>
std::uint32_t spread_of(Owner& owner) noexcept {
    return arena::highest(arena_of(owner).bound());
}

template <class Owner>
bool waits_in_list(Owner& owner) noexcept {
    return detail::slot::offered(arena_of(owner).list().peek()) != nullptr;
}

template <class Owner>
bool waits_in_arena(Owner& owner) noexcept {
    arena& slots = arena_of(owner);
    for (std::uint32_t i = 1; i <= slots.capacity(); ++i) {
        if (detail::slot::offered(slots.at(i).peek()) != nullptr) {
            return true;
        }
    }
    return false;
}

/// Moves the calling thread to a slot without an offer. Precondition: such a slot is in use.
template <class Owner>
void move_to_empty_slot(Owner& owner) noexcept {
    arena& slots = arena_of(owner);
    while (detail::slot::offered(slots.at(arena::index(slots.bound())).peek()) != nullptr) {
        slots.collided();
    }
}

/// Returns when a waiter is in the wait list.
template <class Owner>
void until_someone_waits(Owner& owner) noexcept {
    while (!waits_in_list(owner)) {
        std::this_thread::yield();
    }
}

} // namespace tryst::test
