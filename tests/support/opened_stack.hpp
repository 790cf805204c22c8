// SPDX-License-Identifier: MIT
/// @file
/// The arena beside a dual stack, which is private. Tests grow it, which otherwise takes a race.
#pragma once

#include <tryst/detail/meet/arena.hpp>
#include <tryst/detail/meet/dual_stack.hpp>
#include <tryst/detail/meet/protocol.hpp>

namespace tryst::test {

using stack_protocol = detail::protocol<detail::dual_stack>;
using stack_arena = detail::basic_arena<detail::dual_stack>;

/// An explicit instantiation may name private members ([temp.spec.general]).
struct stack_arena_member {
    friend constexpr stack_arena stack_protocol::* member_of(stack_arena_member /*of*/) noexcept;
};
template <stack_arena stack_protocol::* Arena>
struct opened_stack {
    friend constexpr stack_arena stack_protocol::* member_of(stack_arena_member /*of*/) noexcept {
        return Arena;
    }
};
template struct opened_stack<&stack_protocol::arena_>;

inline stack_arena& arena_of(stack_protocol& inside) noexcept {
    return inside.*member_of(stack_arena_member());
}

} // namespace tryst::test
