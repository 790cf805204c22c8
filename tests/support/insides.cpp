// SPDX-License-Identifier: MIT
#include "support/insides.hpp"

#include <memory>

namespace tryst::test {

namespace {

// An explicit instantiation may name private members ([temp.spec.general]), and tells us here.
template <class Key, typename Key::type Member>
struct opened {
    friend constexpr typename Key::type member_of(Key /*key*/) noexcept { return Member; }
};

struct int_protocol {
    using type = std::unique_ptr<detail::protocol<int>> exchanger<int>::*;
    friend constexpr type member_of(int_protocol) noexcept;
};
struct int_arena {
    using type = detail::arena detail::protocol<int>::*;
    friend constexpr type member_of(int_arena) noexcept;
};
struct tracked_protocol {
    using type = std::unique_ptr<detail::protocol<tracked>> exchanger<tracked>::*;
    friend constexpr type member_of(tracked_protocol) noexcept;
};
struct tracked_arena {
    using type = detail::arena detail::protocol<tracked>::*;
    friend constexpr type member_of(tracked_arena) noexcept;
};

template struct opened<int_protocol, &exchanger<int>::protocol_>;
template struct opened<int_arena, &detail::protocol<int>::arena_>;
template struct opened<tracked_protocol, &exchanger<tracked>::protocol_>;
template struct opened<tracked_arena, &detail::protocol<tracked>::arena_>;

} // namespace

detail::arena& arena_of(detail::protocol<int>& protocol) noexcept {
    return protocol.*member_of(int_arena());
}
detail::arena& arena_of(detail::protocol<tracked>& protocol) noexcept {
    return protocol.*member_of(tracked_arena());
}
detail::arena& arena_of(exchanger<int>& ex) noexcept {
    return arena_of(*(ex.*member_of(int_protocol())));
}
detail::arena& arena_of(exchanger<tracked>& ex) noexcept {
    return arena_of(*(ex.*member_of(tracked_protocol())));
}

} // namespace tryst::test
