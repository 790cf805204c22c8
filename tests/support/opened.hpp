// SPDX-License-Identifier: MIT
/// @file
/// The private members that lead from an exchanger to its slots.
#pragma once

#include <tryst/detail/meet/arena.hpp>
#include <tryst/detail/meet/protocol.hpp>
#include <tryst/detail/meet/single_slot.hpp>
#include <tryst/exchanger.hpp>

#include <memory>
#include <type_traits>

namespace tryst::test {

using arena = detail::basic_arena<detail::single_slot>;
using protocol = detail::protocol<detail::single_slot>;

template <class T>
struct members {
    std::unique_ptr<protocol> exchanger<T>::* inside;
    arena protocol::* slots;
};

/// An explicit instantiation may name private members ([temp.spec.general]), and tells
/// `members_of`, which is to be declared before, for its T.
template <class T, std::unique_ptr<protocol> exchanger<T>::* Inside, arena protocol::* Arena>
struct opened {
    friend constexpr members<T> members_of(std::type_identity<T> /*of*/) noexcept {
        return {Inside, Arena};
    }
};

} // namespace tryst::test
