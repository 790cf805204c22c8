// SPDX-License-Identifier: MIT
#include "support/insides.hpp"

#include "support/opened.hpp"

#include <type_traits>

namespace tryst::test {

constexpr members<int> members_of(std::type_identity<int> of) noexcept;
constexpr members<tracked> members_of(std::type_identity<tracked> of) noexcept;

template struct opened<int, &exchanger<int>::protocol_, &protocol::arena_>;
template struct opened<tracked, &exchanger<tracked>::protocol_, &protocol::arena_>;

arena& arena_of(protocol& inside) noexcept {
    return inside.*members_of(std::type_identity<int>()).slots;
}
arena& arena_of(exchanger<int>& ex) noexcept {
    return arena_of(*(ex.*members_of(std::type_identity<int>()).inside));
}
arena& arena_of(exchanger<tracked>& ex) noexcept {
    return arena_of(*(ex.*members_of(std::type_identity<tracked>()).inside));
}

} // namespace tryst::test
