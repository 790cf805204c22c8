// SPDX-License-Identifier: MIT
#include "support/counted_memory.hpp"
#include "support/new_operators.hpp"

#include <new>

namespace tryst::test {

void* new_block(std::size_t size, std::size_t alignment) {
    allocations.fetch_add(1);
    allocated_bytes.fetch_add(size);
    const bool fails =
        allocations_fail || (failing_allocation > 0 && failing_allocation.fetch_sub(1) == 1);
    void* const block = fails ? nullptr : system_block(size, alignment);
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
        free_system_block(block);
    }
}

} // namespace tryst::test
