// SPDX-License-Identifier: MIT
#include "support/insides.hpp"

#include "support/opened.hpp"

#include <type_traits>

namespace tryst::test {

constexpr members<int> members_of(std::type_identity<int> of) noexcept;
constexpr members<tracked> members_of(std::type_identity<tracked> of) noexcept;

template struct opened<int, &exchanger<int>::protocol_, &detail::protocol<int>::arena_>;
template struct opened<tracked, &exchanger<tracked>::protocol_, &detail::protocol<tracked>::arena_>;

detail::arena& arena_of(detail::protocol<int>& protocol) noexcept {
    return protocol.*members_of(std::type_identity<int>()).arena;
}
detail::arena& arena_of(detail::protocol<tracked>& protocol) noexcept {
    return protocol.*members_of(std::type_identity<tracked>()).arena;
}
detail::arena& arena_of(exchanger<int>& ex) noexcept {
    return arena_of(*(ex.*members_of(std::type_identity<int>()).protocol));
}
detail::arena& arena_of(exchanger<tracked>& ex) noexcept {
    return arena_of(*(ex.*members_of(std::type_identity<tracked>()).protocol));
}

} // namespace tryst::test
