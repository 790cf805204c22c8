// SPDX-License-Identifier: MIT
/// @file
/// The meaning of a completion's `user_data`: an address or a number, and a tag in the low bits.
/// Standard library only.
#pragma once

#include <cstdint>

namespace tryst::uring::detail {

/// The kind of a completion.
enum class tag : std::uint8_t {
    operation, ///< An operation ended, or a multishot one has a result. With its address.
    cancellation, ///< The answer to a request for cancellation. With the operation's address.
    eventfd, ///< The poll of this context's eventfd ended.
    wake, ///< A message from another context, which wakes this one.
    sent_wake, ///< A message to another context was sent or refused. With that context's eventfd.
    ignored, ///< No action is needed.
};

/// Addresses with a tag must be multiples of this.
inline constexpr std::uint64_t tag_values = 8;

/// The word that goes to the kernel and comes back, and the parts that it is made of.
struct user_data {
    std::uint64_t word;

    user_data(std::uint64_t raw) noexcept : word(raw) {}
    user_data(tag kind) noexcept : word(static_cast<std::uint64_t>(kind)) {}
    user_data(tag kind, const void* address) noexcept
        : word(reinterpret_cast<std::uintptr_t>(address) | static_cast<std::uint64_t>(kind)) {}
    user_data(tag kind, int number) noexcept
        : word(static_cast<std::uint64_t>(number) * tag_values | static_cast<std::uint64_t>(kind)) {
    }

    tag kind() const noexcept { return static_cast<tag>(word % tag_values); }
    int number() const noexcept { return static_cast<int>(word / tag_values); }
    template <class T>
    T& target() const noexcept {
        static_assert(alignof(T) >= tag_values);
        return *reinterpret_cast<T*>(word - word % tag_values);
    }
};

} // namespace tryst::uring::detail
