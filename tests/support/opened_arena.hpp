// SPDX-License-Identifier: MIT
/// @file
/// The arena beside a wait list that eliminates, which is private. Tests grow it, which otherwise
/// takes a race.
#pragma once

#include <tryst/detail/meet/arena.hpp>
#include <tryst/detail/meet/dual_stack.hpp>
#include <tryst/detail/meet/eliminating.hpp>

#include <cstdint>

namespace tryst::test {

using stack_protocol = detail::protocol<detail::dual_stack>;

/// An explicit instantiation may name private members ([temp.spec.general]).
template <auto Arena>
struct opened_arena;
template <class WaitList, std::uint32_t GroupSize, class Steps,
          detail::basic_arena<WaitList, GroupSize> Steps::* Arena>
struct opened_arena<Arena> {
    friend detail::basic_arena<WaitList, GroupSize>&
    arena_of(detail::protocol<WaitList>& inside) noexcept {
        return inside.*Arena;
    }
};
detail::basic_arena<detail::dual_stack, 4>& arena_of(stack_protocol& inside) noexcept;
template struct opened_arena<&stack_protocol::arena_>;

/// Lets the calling thread's next arrival, if the arena is in use, look at the stack first or not.
inline void let_next_arrival_look(bool looks) noexcept {
    auto& here = detail::per_thread<detail::thread_state>();
    detail::thread_state tried;
    do {
        ++here.random;
        tried.random = here.random;
    } while (detail::comes_up(tried) != looks);
}

} // namespace tryst::test
