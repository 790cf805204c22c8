// SPDX-License-Identifier: MIT
#include "support/insides.hpp"

#include <memory>

namespace tryst::test {

using protocol = detail::protocol<detail::single_slot>;

/// An explicit instantiation may name private members ([temp.spec.general]). Each defines a
/// function that is declared below.
template <class T, std::unique_ptr<protocol> exchanger<T>::* Inside>
struct opened {
    friend protocol& inside_of(exchanger<T>& ex) noexcept { return *(ex.*Inside); }
};
template <auto Arena>
struct opened_protocol {
    friend arena& slots_of(protocol& inside) noexcept { return inside.*Arena; }
};

protocol& inside_of(exchanger<int>& ex) noexcept;
protocol& inside_of(exchanger<tracked>& ex) noexcept;
arena& slots_of(protocol& inside) noexcept;

template struct opened<int, &exchanger<int>::protocol_>;
template struct opened<tracked, &exchanger<tracked>::protocol_>;
template struct opened_protocol<&protocol::arena_>;

arena& arena_of(protocol& inside) noexcept {
    return slots_of(inside);
}
arena& arena_of(exchanger<int>& ex) noexcept {
    return slots_of(inside_of(ex));
}
arena& arena_of(exchanger<tracked>& ex) noexcept {
    return slots_of(inside_of(ex));
}

} // namespace tryst::test
