// SPDX-License-Identifier: MIT
#include "support/counted_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#ifdef _WIN32
#include <malloc.h>
#endif

namespace {

#ifdef _WIN32 // which has no std::aligned_alloc
void* aligned_alloc(std::size_t alignment, std::size_t size) {
    return _aligned_malloc(size, alignment);
}
void aligned_free(void* memory) {
    _aligned_free(memory);
}
#else
using std::aligned_alloc;
void aligned_free(void* memory) {
    std::free(memory);
}
#endif

void* count_in(std::size_t size, std::size_t alignment) {
    tryst::test::allocations.fetch_add(1);
    tryst::test::allocated_bytes.fetch_add(size);
    const std::size_t whole =
        (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
    const bool fails =
        tryst::test::allocations_fail ||
        (tryst::test::failing_allocation > 0 && tryst::test::failing_allocation.fetch_sub(1) == 1);
    void* const memory = fails ? nullptr : aligned_alloc(alignment, whole);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

void count_out(void* memory) noexcept {
    if (memory != nullptr) {
        tryst::test::deallocations.fetch_add(1);
        aligned_free(memory);
    }
}

/// As above, but null if there is none.
void* try_count_in(std::size_t size, std::size_t alignment) noexcept {
    try {
        return count_in(size, alignment);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

} // namespace

// All of them, and not only those that the others call as a rule: a sanitizer has each of them,
// too.
void* operator new(std::size_t size) {
    return count_in(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size) {
    return count_in(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return count_in(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return count_in(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
    return try_count_in(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
    return try_count_in(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment,
                   const std::nothrow_t& /*tag*/) noexcept {
    return try_count_in(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment,
                     const std::nothrow_t& /*tag*/) noexcept {
    return try_count_in(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
    count_out(memory);
}
void operator delete[](void* memory) noexcept {
    count_out(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
    count_out(memory);
}
void operator delete[](void* memory, std::size_t /*size*/) noexcept {
    count_out(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
    count_out(memory);
}
void operator delete[](void* memory, std::align_val_t /*alignment*/) noexcept {
    count_out(memory);
}
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
    count_out(memory);
}
void operator delete[](void* memory, std::size_t /*size*/,
                       std::align_val_t /*alignment*/) noexcept {
    count_out(memory);
}
