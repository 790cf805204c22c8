// SPDX-License-Identifier: MIT
#include "sim/venue.hpp"

#include "support/opened_arena.hpp"

namespace tryst::test {

using sim::any_exchanger;
using sim::lifo_exchanger;
template <class WaitList>
using counting_protocol = detail::protocol<WaitList, detail::observer<counted>>;

/// As `opened_arena`, through the exchanger's own member.
template <class Exchanger, class WaitList,
          std::unique_ptr<counting_protocol<WaitList>> Exchanger::* Inside,
          detail::basic_arena<WaitList> counting_protocol<WaitList>::* Arena>
struct opened_exchanger {
    friend detail::basic_arena<WaitList>& arena_of(Exchanger& ex) noexcept {
        return *(ex.*Inside).*Arena;
    }
};
detail::basic_arena<detail::single_slot>& arena_of(any_exchanger& ex) noexcept;
template struct opened_exchanger<any_exchanger, detail::single_slot, &any_exchanger::protocol_,
                                 &counting_protocol<detail::single_slot>::arena_>;
detail::basic_arena<detail::dual_stack>& arena_of(lifo_exchanger& ex) noexcept;
template struct opened_exchanger<lifo_exchanger, detail::dual_stack, &lifo_exchanger::protocol_,
                                 &counting_protocol<detail::dual_stack>::arena_>;

} // namespace tryst::test

namespace tryst::sim {

void venue::make(kind which, std::size_t capacity) {
    what_ = which;
    if (which == kind::any || which == kind::lifo) {
        counters_ = std::make_unique<counters>(choices().between(0, 2));
    }
    switch (which) {
    case kind::any:
        owned_ = std::make_unique<any_exchanger>(capacity, *counters_);
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
    }
}

namespace {

bool holds_waiter(const detail::slot& at) noexcept {
    return detail::slot::offered(at.peek()) != nullptr;
}

template <class Arena>
bool is_empty(Arena& arena) noexcept {
    for (std::uint32_t i = 0; i != arena.capacity() * Arena::group_size; ++i) {
        if (holds_waiter(arena.at(1 + i / Arena::group_size, i % Arena::group_size))) {
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

bool venue::somebody_waits() noexcept {
    const auto* const any = std::get_if<std::unique_ptr<any_exchanger>>(&owned_);
    return any != nullptr &&
           (holds_waiter(test::arena_of(**any).list()) || !is_empty(test::arena_of(**any)));
}

bool venue::all_are_in_wait_list() noexcept {
    bool all_are = true;
    visit([&]<class Exchanger>(Exchanger& ex) {
        if constexpr (std::is_same_v<Exchanger, any_exchanger>) {
            all_are = holds_waiter(test::arena_of(ex).list());
        } else if constexpr (std::is_same_v<Exchanger, lifo_exchanger>) {
            all_are = is_empty(test::arena_of(ex));
        }
    });
    return all_are;
}

} // namespace tryst::sim
