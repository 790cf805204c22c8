// SPDX-License-Identifier: MIT
#include "region.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

namespace tryst::scale::region {
namespace {

std::byte* start = nullptr;
std::size_t used = 0;
bool inside = false;

} // namespace

void begin() {
    if (start == nullptr) {
        void* const room =
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room == MAP_FAILED) {
            throw std::bad_alloc();
        }
        start = static_cast<std::byte*>(room);
    }
    used = 0;
    inside = true;
}

void end() noexcept {
    inside = false;
}

void* allocate(std::size_t bytes, std::size_t alignment) {
    if (!inside) {
        const std::size_t unit = std::max(alignment, alignof(std::max_align_t));
        void* const room =
            std::aligned_alloc(unit, (std::max<std::size_t>(bytes, 1) + unit - 1) / unit * unit);
        if (room == nullptr) {
            throw std::bad_alloc();
        }
        return room;
    }
    const std::size_t unit = std::max(alignment, line_size);
    const std::size_t at = (used + unit - 1) / unit * unit;
    if (bytes > size - at) {
        throw std::bad_alloc();
    }
    used = at + std::max<std::size_t>(bytes, 1);
    return start + at;
}

std::size_t lines_in_use() noexcept {
    return (used + line_size - 1) / line_size;
}

std::size_t line_of(const void* address) noexcept {
    const auto offset =
        reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(start);
    return std::min(offset / line_size, line_count);
}

outside::outside() noexcept : was_inside_(inside) {
    inside = false;
}
outside::~outside() {
    inside = was_inside_;
}

} // namespace tryst::scale::region

// NOLINTBEGIN(misc-new-delete-overloads): all of them are here.
void* operator new(std::size_t bytes) {
    return tryst::scale::region::allocate(bytes, 1);
}
void* operator new[](std::size_t bytes) {
    return tryst::scale::region::allocate(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return tryst::scale::region::allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    return tryst::scale::region::allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* room) noexcept {
    if (tryst::scale::region::line_of(room) == tryst::scale::region::line_count) {
        std::free(room);
    }
}
void operator delete[](void* room) noexcept {
    operator delete(room);
}
void operator delete(void* room, std::size_t /*bytes*/) noexcept {
    operator delete(room);
}
void operator delete[](void* room, std::size_t /*bytes*/) noexcept {
    operator delete(room);
}
void operator delete(void* room, std::align_val_t /*alignment*/) noexcept {
    operator delete(room);
}
void operator delete[](void* room, std::align_val_t /*alignment*/) noexcept {
    operator delete(room);
}
void operator delete(void* room, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
    operator delete(room);
}
void operator delete[](void* room, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
    operator delete(room);
}
// NOLINTEND(misc-new-delete-overloads)
