// SPDX-License-Identifier: MIT
/// @file
/// The arena beside a wait list that eliminates, which is private. Tests grow it, which otherwise
/// takes a race.
#pragma once

#include <tryst/detail/meet/arena.hpp>
#include <tryst/detail/meet/dual_queue.hpp>
#include <tryst/detail/meet/dual_stack.hpp>
#include <tryst/detail/meet/protocol.hpp>

namespace tryst::test {

using stack_protocol = detail::protocol<detail::dual_stack>;
using unordered_protocol = detail::protocol<detail::unordered_dual_queue>;

/// An explicit instantiation may name private members ([temp.spec.general]).
template <auto Arena>
struct opened_arena;
template <class WaitList, detail::basic_arena<WaitList> detail::protocol<WaitList>::* Arena>
struct opened_arena<Arena> {
    friend detail::basic_arena<WaitList>& arena_of(detail::protocol<WaitList>& inside) noexcept {
        return inside.*Arena;
    }
};
detail::basic_arena<detail::dual_stack>& arena_of(stack_protocol& inside) noexcept;
detail::basic_arena<detail::unordered_dual_queue>& arena_of(unordered_protocol& inside) noexcept;
template struct opened_arena<&stack_protocol::arena_>;
template struct opened_arena<&unordered_protocol::arena_>;

} // namespace tryst::test
