// SPDX-License-Identifier: MIT
/// @file
/// Requirements on the type of an item. Items change hands in waiter.hpp (`swap_items`).
/// Standard library only.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

namespace tryst::detail {

/// The item of a party that brings none.
struct nothing {};

template <class T>
using object_t = std::conditional_t<std::is_void_v<T>, nothing, T>;

/// Whether a `T` can live in a coroutine frame. g++ 12 and clang 19 align frames only as far as
/// `operator new` does by default, but generate code that relies on the alignment of the variables
/// in them. So even in the caller's own frame, an over-aligned item would be misaligned.
template <class T>
inline constexpr bool fits_frames = alignof(object_t<T>) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__;

} // namespace tryst::detail
