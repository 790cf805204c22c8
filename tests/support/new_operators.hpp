// SPDX-License-Identifier: MIT
/// @file
/// What takes the place of the heap: a program that links new_operators.cpp defines these.
#pragma once

#include <cstddef>
#include <new>

namespace tryst::test {

/// @throws std::bad_alloc.
void* new_block(std::size_t size, std::size_t alignment);
/// As above, but null if there is no memory.
void* try_new_block(std::size_t size, std::size_t alignment) noexcept;
void delete_block(void* block) noexcept;

/// The heap behind that. Null if there is no memory.
void* system_block(std::size_t size, std::size_t alignment) noexcept;
void free_system_block(void* block) noexcept;

} // namespace tryst::test
