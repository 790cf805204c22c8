// SPDX-License-Identifier: MIT
#include "support/counted_memory.hpp"
#include "support/new_operators.hpp"

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

} // namespace

namespace tryst::test {

void* new_block(std::size_t size, std::size_t alignment) {
    allocations.fetch_add(1);
    allocated_bytes.fetch_add(size);
    const std::size_t whole =
        (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
    const bool fails =
        allocations_fail || (failing_allocation > 0 && failing_allocation.fetch_sub(1) == 1);
    void* const block = fails ? nullptr : aligned_alloc(alignment, whole);
    if (block == nullptr) {
        throw std::bad_alloc();
    }
    return block;
}

void* try_new_block(std::size_t size, std::size_t alignment) noexcept {
    try {
        return new_block(size, alignment);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void delete_block(void* block) noexcept {
    if (block != nullptr) {
        deallocations.fetch_add(1);
        aligned_free(block);
    }
}

} // namespace tryst::test
