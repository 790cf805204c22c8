// SPDX-License-Identifier: MIT
#include "sim/venue.hpp"

#include "support/insides.hpp"

#include <tryst/detail/meet/arena.hpp>
#include <tryst/detail/meet/dual_stack.hpp>
#include <tryst/detail/meet/protocol.hpp>

namespace tryst::sim {

namespace {

using stack_protocol = detail::protocol<detail::dual_stack>;
using stack_arena = detail::basic_arena<detail::dual_stack>;

/// An explicit instantiation may name private members ([temp.spec.general]).
struct arena_member {
    friend constexpr stack_arena stack_protocol::* member_of(arena_member /*of*/) noexcept;
};
template <stack_arena stack_protocol::* Arena>
struct opened {
    friend constexpr stack_arena stack_protocol::* member_of(arena_member /*of*/) noexcept {
        return Arena;
    }
};
template struct opened<&stack_protocol::arena_>;

stack_arena& arena_of(lifo_exchanger& ex) noexcept {
    return ex.inside().*member_of(arena_member());
}

} // namespace

void venue::make(kind which, std::size_t capacity) {
    what_ = which;
    switch (which) {
    case kind::plain:
        owned_ = std::make_unique<plain_exchanger>(capacity);
        break;
    case kind::fifo:
        owned_ = std::make_unique<fifo_exchanger>();
        break;
    case kind::short_fifo:
        owned_ = std::make_unique<short_fifo_exchanger>();
        break;
    case kind::lifo:
        owned_ = std::make_unique<lifo_exchanger>(capacity);
        break;
    case kind::channel:
        owned_ = std::make_unique<item_channel>();
        break;
    }
}

void venue::grow(std::size_t times) noexcept {
    for (std::size_t i = 0; i != times; ++i) {
        if (const auto* const plain = std::get_if<std::unique_ptr<plain_exchanger>>(&owned_)) {
            test::grow(**plain);
        } else if (const auto* const lifo = std::get_if<std::unique_ptr<lifo_exchanger>>(&owned_)) {
            arena_of(**lifo).collided();
        }
    }
}

bool venue::somebody_waits() noexcept {
    const auto* const plain = std::get_if<std::unique_ptr<plain_exchanger>>(&owned_);
    return plain != nullptr && (test::waits_in_list(**plain) || test::waits_in_arena(**plain));
}

bool venue::all_are_in_wait_list() noexcept {
    if (const auto* const plain = std::get_if<std::unique_ptr<plain_exchanger>>(&owned_)) {
        return test::waits_in_list(**plain);
    }
    if (const auto* const lifo = std::get_if<std::unique_ptr<lifo_exchanger>>(&owned_)) {
        stack_arena& arena = arena_of(**lifo);
        for (std::uint32_t i = 1; i <= arena.capacity(); ++i) {
            if (detail::slot::offered(arena.at(i).peek()) != nullptr) {
                return false;
            }
        }
    }
    return true;
}

} // namespace tryst::sim
