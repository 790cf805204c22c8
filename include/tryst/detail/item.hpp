// SPDX-License-Identifier: MIT
/// @file
/// Storage for one exchanged item, at its own alignment wherever it is placed.
/// Standard library only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace tryst::detail {

/// An object of type `T` inside an awaiter or a result. Compilers align coroutine frames for
/// `operator new`'s default and no further (g++ before 15 silently misplaces over-aligned members),
/// so an over-aligned item carries the room to align itself.
template <class T, bool OverAligned = (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__)>
class item {
public:
    explicit item(T&& value) noexcept : value_(std::move(value)) {}

    T& get() noexcept { return value_; }

private:
    T value_;
};

template <class T>
class item<T, true> {
public:
    explicit item(T&& value) noexcept { ::new (address()) T(std::move(value)); }
    item(item&& other) noexcept : item(std::move(other.get())) {}
    item(const item& other)
        requires std::is_copy_constructible_v<T>
    {
        ::new (address()) T(const_cast<item&>(other).get());
    }
    item& operator=(item&& other) noexcept {
        if (this != &other) {
            get().~T();
            ::new (address()) T(std::move(other.get()));
        }
        return *this;
    }
    item& operator=(const item& other)
        requires std::is_copy_constructible_v<T>
    {
        if (this != &other) {
            *this = item(other);
        }
        return *this;
    }
    ~item() { get().~T(); }

    T& get() noexcept { return *std::launder(static_cast<T*>(address())); }

private:
    void* address() noexcept {
        auto start = reinterpret_cast<std::uintptr_t>(room_);
        // Compilers believe in alignments of coroutine frames that they do not provide, and would fold the
        // offset: clang did. So the address is hidden from them.
        asm("" : "+r"(start));
        const auto offset = (alignof(T) - start % alignof(T)) % alignof(T);
        return room_ + offset;
    }

    alignas(__STDCPP_DEFAULT_NEW_ALIGNMENT__)
        std::byte room_[sizeof(T) + alignof(T) - __STDCPP_DEFAULT_NEW_ALIGNMENT__];
};

} // namespace tryst::detail
