// SPDX-License-Identifier: MIT
/// @file
/// How items become bytes and bytes become items.
/// Asio, only to choose the namespace.
#pragma once

#include <tryst/redis/detail/net.hpp>

#include <concepts>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

TRYST_REDIS_BEGIN
/// @addtogroup remote
/// @{

/// A type whose static functions turn items into bytes and back. `decode` throws an exception
/// derived from `std::exception` if the bytes do not represent an item, because they may come from
/// another version of the program. Both may be called on the connection's executor.
template <class Codec, class T>
concept codec_for = requires(const T& item, std::string_view bytes) {
    { Codec::encode(item) } -> std::convertible_to<std::string>;
    { Codec::decode(bytes) } -> std::convertible_to<T>;
};

/// The default codec: for `std::string`, `std::vector` of bytes, and trivially copyable types
/// without pointers. Specialise it for other types, or name a codec of your own as the last
/// template argument of the exchanger.
template <class T>
struct codec {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>,
                  "tryst::redis::codec<T>: specialise it for T, or name a codec, because T is not "
                  "trivially copyable, or is a pointer");

    /// The bytes of the object. All processes must agree on its layout and byte order.
    static std::string encode(const T& item) {
        return {reinterpret_cast<const char*>(std::addressof(item)), sizeof(T)};
    }
    /// @throws std::invalid_argument if the size is wrong.
    static T decode(std::string_view bytes) {
        if (bytes.size() != sizeof(T)) {
            throw std::invalid_argument("an item of " + std::to_string(sizeof(T)) +
                                        " bytes was expected, but " + std::to_string(bytes.size()) +
                                        " bytes came");
        }
        alignas(T) std::byte memory[sizeof(T)]; // T need not have a default constructor
        std::memcpy(memory, bytes.data(), sizeof(T));
        return *std::launder(reinterpret_cast<T*>(memory));
    }
};

/// Text or bytes, unchanged.
template <>
struct codec<std::string> {
    /// Returns the string.
    static std::string encode(const std::string& item) { return item; }
    /// Returns the bytes.
    static std::string decode(std::string_view bytes) { return std::string(bytes); }
};

/// Bytes, unchanged.
template <class Byte>
    requires(std::is_trivially_copyable_v<Byte> && sizeof(Byte) == 1)
struct codec<std::vector<Byte>> {
    /// Returns the bytes.
    static std::string encode(const std::vector<Byte>& item) {
        return {reinterpret_cast<const char*>(item.data()), item.size()};
    }
    /// Returns the bytes.
    static std::vector<Byte> decode(std::string_view bytes) {
        const auto* first = reinterpret_cast<const Byte*>(bytes.data());
        return {first, first + bytes.size()};
    }
};

/// @}
TRYST_REDIS_END
