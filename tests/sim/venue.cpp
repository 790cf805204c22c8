// SPDX-License-Identifier: MIT
#include "sim/venue.hpp"

#include "support/insides.hpp"

#include <type_traits>

namespace tryst::test {

using sim::lifo_exchanger;
using stack_protocol = detail::protocol<detail::dual_stack, detail::observer<counted>>;
using stack_arena = detail::basic_arena<detail::dual_stack, 4>;

/// An explicit instantiation may name private members ([temp.spec.general]).
template <std::unique_ptr<stack_protocol> lifo_exchanger::* Inside, auto Arena>
struct opened_stack {
    friend stack_arena& arena_of(lifo_exchanger& ex) noexcept { return *(ex.*Inside).*Arena; }
};
stack_arena& arena_of(lifo_exchanger& ex) noexcept;
template struct opened_stack<&lifo_exchanger::protocol_, &stack_protocol::arena_>;

} // namespace tryst::test

namespace tryst::sim {

void venue::make(kind which, std::size_t capacity) {
    what_ = which;
    if (which == kind::counted || which == kind::lifo) {
        counters_ = std::make_unique<counters>(choices().between(0, 2));
    }
    switch (which) {
    case kind::plain:
        owned_ = std::make_unique<plain_exchanger>(capacity);
        break;
    case kind::counted:
        owned_ = std::make_unique<counted_exchanger>(capacity, *counters_);
        break;
    case kind::fifo:
        owned_ = std::make_unique<fifo_exchanger>();
        break;
    case kind::lifo:
        owned_ = std::make_unique<lifo_exchanger>(capacity, *counters_);
        break;
    case kind::channel:
        owned_ = std::make_unique<item_channel>();
        break;
    case kind::buffer:
        owned_ = std::make_unique<item_buffer>(capacity, [this](item each) { take(*left_, each); });
        break;
    case kind::heavy:
        owned_ =
            std::make_unique<heavy_buffer>(capacity, [this](item each) { take(*left_, each); });
        break;
    }
}

namespace {

bool is_empty(test::stack_arena& arena) noexcept {
    for (std::uint32_t i = 0; i != arena.capacity() * arena.group_size; ++i) {
        const detail::slot& each = arena.at(1 + i / arena.group_size, i % arena.group_size);
        if (detail::slot::offered(each.peek()) != nullptr) {
            return false;
        }
    }
    return true;
}

} // namespace

void venue::grow(std::size_t times) noexcept {
    visit([&](auto& ex) {
        if constexpr (requires { test::arena_of(ex); }) {
            for (std::size_t i = 0; i != times; ++i) {
                test::arena_of(ex).collided();
            }
        }
    });
}

std::pair<std::size_t, std::size_t> venue::size_and_limit() {
    std::pair<std::size_t, std::size_t> found;
    visit([&](auto& ex) {
        if constexpr (requires { ex.limit(); }) {
            found = {ex.size(), ex.limit()};
        }
    });
    return found;
}

bool venue::somebody_waits() noexcept {
    const auto* const plain = std::get_if<std::unique_ptr<plain_exchanger>>(&owned_);
    return plain != nullptr && (test::waits_in_list(**plain) || test::waits_in_arena(**plain));
}

bool venue::all_are_in_wait_list() noexcept {
    bool all_are = true;
    visit([&]<class Exchanger>(Exchanger& ex) {
        if constexpr (std::is_same_v<Exchanger, plain_exchanger>) {
            all_are = test::waits_in_list(ex);
        } else if constexpr (std::is_same_v<Exchanger, lifo_exchanger>) {
            all_are = is_empty(test::arena_of(ex));
        }
    });
    return all_are;
}

} // namespace tryst::sim
