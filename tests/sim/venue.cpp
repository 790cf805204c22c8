// SPDX-License-Identifier: MIT
#include "sim/venue.hpp"

#include "support/insides.hpp"
#include "support/opened_arena.hpp"

namespace tryst::sim {

void venue::make(kind which, std::size_t capacity) {
    what_ = which;
    if (which == kind::counted || which == kind::counted_lifo) {
        counters_ = std::make_unique<counters>(choices().between(0, 2));
    }
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
    case kind::counted:
        owned_ = std::make_unique<counted_exchanger>(capacity, *counters_);
        break;
    case kind::counted_lifo:
        owned_ = std::make_unique<counted_lifo_exchanger>(capacity, *counters_);
        break;
    }
}

namespace {

template <class Exchanger>
constexpr bool eliminates = false;
template <class WaitList>
constexpr bool eliminates<test::short_exchanger<WaitList, item>> = WaitList::eliminates;

template <class Arena>
bool is_empty(Arena& arena) noexcept {
    for (std::uint32_t i = 0; i != arena.capacity() * Arena::group_size; ++i) {
        const detail::slot& each = arena.at(1 + i / Arena::group_size, i % Arena::group_size);
        if (detail::slot::offered(each.peek()) != nullptr) {
            return false;
        }
    }
    return true;
}

} // namespace

void venue::grow(std::size_t times) noexcept {
    visit([&]<class Exchanger>(Exchanger& ex) {
        for (std::size_t i = 0; i != times; ++i) {
            if constexpr (std::is_same_v<Exchanger, plain_exchanger>) {
                test::grow(ex);
            } else if constexpr (eliminates<Exchanger>) {
                test::arena_of(ex.inside()).collided();
            }
        }
    });
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
        } else if constexpr (eliminates<Exchanger>) {
            all_are = is_empty(test::arena_of(ex.inside()));
        }
    });
    return all_are;
}

} // namespace tryst::sim
