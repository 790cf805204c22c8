// SPDX-License-Identifier: MIT
/// @file
/// The private members that lead from an exchanger to its slots.
#pragma once

#include <tryst/detail/arena.hpp>
#include <tryst/detail/protocol.hpp>
#include <tryst/exchanger.hpp>

#include <memory>
#include <type_traits>

namespace tryst::test {

template <class T>
struct members {
    std::unique_ptr<detail::protocol<T>> exchanger<T>::* protocol;
    detail::arena detail::protocol<T>::* arena;
};

/// An explicit instantiation may name private members ([temp.spec.general]), and tells `members_of`, which
/// is to be declared before, for its T.
template <class T, std::unique_ptr<detail::protocol<T>> exchanger<T>::* Protocol,
          detail::arena detail::protocol<T>::* Arena>
struct opened {
    friend constexpr members<T> members_of(std::type_identity<T> /*of*/) noexcept {
        return {Protocol, Arena};
    }
};

} // namespace tryst::test
