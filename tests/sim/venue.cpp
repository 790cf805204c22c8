// SPDX-License-Identifier: MIT
#include "sim/venue.hpp"

#include "support/insides.hpp"
#include "support/opened_stack.hpp"

namespace tryst::sim {

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
            test::arena_of((*lifo)->inside()).collided();
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
        test::stack_arena& arena = test::arena_of((*lifo)->inside());
        for (std::uint32_t i = 0; i != arena.capacity() * test::stack_arena::group_size; ++i) {
            const detail::slot& each =
                arena.at(1 + i / test::stack_arena::group_size, i % test::stack_arena::group_size);
            if (detail::slot::offered(each.peek()) != nullptr) {
                return false;
            }
        }
    }
    return true;
}

} // namespace tryst::sim
