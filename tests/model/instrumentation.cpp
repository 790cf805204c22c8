// SPDX-License-Identifier: MIT
/// @file
/// The scenes and the library's headers are compiled with -fsanitize=thread, but not linked with
/// its runtime: the calls that the compiler puts before each access to memory come here. So do
/// failed assertions, and new and delete.
#include "model/checker.hpp"
#include "support/new_operators.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

using tryst::model::access;
using tryst::model::checker;

void enter(access kind, const void* address, std::size_t size) {
    if (checker* const c = checker::of_this_thread()) {
        c->enter(kind, address, size);
    }
}

} // namespace

namespace tryst::test {

void* new_block(std::size_t size, std::size_t alignment) {
    if (checker* const c = checker::of_this_thread()) {
        return c->allocate(size, alignment);
    }
    if (void* const block = system_block(size, alignment)) {
        return block;
    }
    std::abort();
}

void* try_new_block(std::size_t size, std::size_t alignment) noexcept {
    checker* const c = checker::of_this_thread();
    return c != nullptr ? c->try_allocate(size, alignment) : new_block(size, alignment);
}

void delete_block(void* block) noexcept {
    checker* const c = checker::of_this_thread();
    if (c != nullptr && c->memory().contains(block)) {
        c->release(block);
    } else {
        free_system_block(block);
    }
}

} // namespace tryst::test

// The names are the compiler's.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
#define TRYST_ACCESS(size)                                                                         \
    void __tsan_read##size(void* address) {                                                        \
        enter(access::read, address, size);                                                        \
    }                                                                                              \
    void __tsan_write##size(void* address) {                                                       \
        enter(access::write, address, size);                                                       \
    }                                                                                              \
    void __tsan_unaligned_read##size(void* address) {                                              \
        enter(access::read, address, size);                                                        \
    }                                                                                              \
    void __tsan_unaligned_write##size(void* address) {                                             \
        enter(access::write, address, size);                                                       \
    }                                                                                              \
    void __tsan_read_write##size(void* address) {                                                  \
        enter(access::write, address, size);                                                       \
    }                                                                                              \
    void __tsan_unaligned_read_write##size(void* address) {                                        \
        enter(access::write, address, size);                                                       \
    }                                                                                              \
    static_assert(true)

extern "C" {
TRYST_ACCESS(1);
TRYST_ACCESS(2);
TRYST_ACCESS(4);
TRYST_ACCESS(8);
TRYST_ACCESS(16);

void __tsan_init() {}
void __tsan_func_entry(void* /*caller*/) {}
void __tsan_func_exit() {}
void __tsan_read_range(void* address, std::size_t size) {
    enter(access::read, address, size);
}
void __tsan_write_range(void* address, std::size_t size) {
    enter(access::write, address, size);
}
void __tsan_vptr_read(void** address) {
    enter(access::read, static_cast<void*>(address), sizeof *address);
}
void __tsan_vptr_update(void** address, void* /*value*/) {
    enter(access::write, static_cast<void*>(address), sizeof *address);
}
void* __tsan_memset(void* to, int value, std::size_t size) {
    enter(access::write, to, size);
    return std::memset(to, value, size);
}
void* __tsan_memcpy(void* to, const void* from, std::size_t size) {
    enter(access::read, from, size);
    enter(access::write, to, size);
    return std::memcpy(to, from, size);
}
void* __tsan_memmove(void* to, const void* from, std::size_t size) {
    enter(access::read, from, size);
    enter(access::write, to, size);
    return std::memmove(to, from, size);
}

// Guards of function-local statics.
unsigned char __tsan_atomic8_load(const volatile unsigned char* address, int /*order*/) {
    return *address;
}

[[noreturn]] void __assert_fail(const char* expression, const char* file, unsigned line,
                                const char* /*function*/) noexcept {
    if (checker* const c = checker::of_this_thread()) {
        c->fail("assertion failed: " + std::string(expression) + " (" + file + ":" +
                std::to_string(line) + ")");
    }
    std::abort();
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
