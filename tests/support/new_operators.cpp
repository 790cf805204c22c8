// SPDX-License-Identifier: MIT
// Every form of operator new and delete, because a sanitizer supplies each that is missing.
#include "support/new_operators.hpp"

#include <algorithm>
#include <cstdlib>

#ifdef _WIN32
#include <malloc.h>
#endif

namespace tryst::test {

void* system_block(std::size_t size, std::size_t alignment) noexcept {
    const std::size_t whole =
        (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
#ifdef _WIN32 // which has no std::aligned_alloc
    return _aligned_malloc(whole, alignment);
#else
    return std::aligned_alloc(alignment, whole);
#endif
}

void free_system_block(void* block) noexcept {
#ifdef _WIN32
    _aligned_free(block);
#else
    std::free(block);
#endif
}

} // namespace tryst::test

using tryst::test::delete_block;
using tryst::test::new_block;
using tryst::test::try_new_block;

namespace {
constexpr std::size_t usual = alignof(std::max_align_t);
} // namespace

void* operator new(std::size_t size) {
    return new_block(size, usual);
}
void* operator new[](std::size_t size) {
    return new_block(size, usual);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return new_block(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return new_block(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
    return try_new_block(size, usual);
}
void* operator new[](std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
    return try_new_block(size, usual);
}
void* operator new(std::size_t size, std::align_val_t alignment,
                   const std::nothrow_t& /*tag*/) noexcept {
    return try_new_block(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment,
                     const std::nothrow_t& /*tag*/) noexcept {
    return try_new_block(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept {
    delete_block(block);
}
void operator delete[](void* block) noexcept {
    delete_block(block);
}
void operator delete(void* block, std::size_t /*size*/) noexcept {
    delete_block(block);
}
void operator delete[](void* block, std::size_t /*size*/) noexcept {
    delete_block(block);
}
void operator delete(void* block, std::align_val_t /*alignment*/) noexcept {
    delete_block(block);
}
void operator delete[](void* block, std::align_val_t /*alignment*/) noexcept {
    delete_block(block);
}
void operator delete(void* block, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
    delete_block(block);
}
void operator delete[](void* block, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
    delete_block(block);
}
