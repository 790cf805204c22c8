// SPDX-License-Identifier: MIT
#include "sim/memory.hpp"

#include "sim/scheduler.hpp"
#include "support/fiber.hpp" // TRYST_TEST_ASAN
#include "support/new_operators.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace tryst::sim::memory {

namespace {

/* A block is a header and its room, which begins at a multiple of 128, so that all alignments are
 * served alike. Blocks come in classes, of every 128 bytes up to 8 KiB, and of powers of two
 * beyond; each class has a queue of free blocks. New blocks are cut from one mapping, in order. */
struct alignas(16) header {
    header* next; // while free: the next in the queue
    std::uint32_t size_class;
    bool live;
};

constexpr std::size_t mapping_size = std::size_t{1} << 32U;
constexpr std::size_t alignment = 128;
constexpr std::size_t small_classes = 64;
constexpr std::size_t classes = small_classes + 64;
[[maybe_unused]] constexpr int freed_byte = 0xDD;
constexpr int fresh_byte = 0xAB;

struct queue {
    header* first;
    header* last;
};

struct heap {
    std::byte* mapping = nullptr;
    std::byte* unused = nullptr;
    std::array<queue, classes> free{};
    reuse how = reuse::at_once;
    bool inside = false;
    int reserved = 0;
    long until_failure = 0;
    bool failed = false;
    std::size_t in_use = 0;
};
constinit heap h;

std::size_t class_of(std::size_t size) noexcept {
    const std::size_t block = size + sizeof(header);
    return block <= alignment * small_classes
               ? (block + alignment - 1) / alignment - 1
               : small_classes + static_cast<std::size_t>(std::bit_width(block - 1));
}

std::size_t block_size(std::size_t size_class) noexcept {
    return size_class < small_classes ? (size_class + 1) * alignment
                                      : std::size_t{1} << (size_class - small_classes);
}

void forbid(void* at, std::size_t size) noexcept {
#ifdef TRYST_TEST_ASAN
    ASAN_POISON_MEMORY_REGION(at, size);
#else
    std::memset(at, freed_byte, size);
#endif
}

void allow([[maybe_unused]] void* at, [[maybe_unused]] std::size_t size) noexcept {
#ifdef TRYST_TEST_ASAN
    ASAN_UNPOISON_MEMORY_REGION(at, size);
#endif
}

/// Whether nobody has written to what was forbidden.
bool is_untouched([[maybe_unused]] const header* block) noexcept {
#ifdef TRYST_TEST_ASAN
    return true;
#else
    const auto* const first = reinterpret_cast<const unsigned char*>(block + 1);
    const auto* const last = first + block_size(block->size_class) - sizeof(header);
    // All bytes equal the first: compares the room with itself, shifted.
    return *first == freed_byte &&
           std::memcmp(first, first + 1, static_cast<std::size_t>(last - first) - 1) == 0;
#endif
}

header* cut(std::size_t size_class) noexcept {
    const std::size_t size = block_size(size_class);
    if (size > static_cast<std::size_t>(h.mapping + mapping_size - h.unused)) {
        std::fputs("sim: the simulated heap is too small\n", stderr);
        std::abort();
    }
    void* const block = h.unused;
    h.unused += size;
    allow(block, sizeof(header));
    return ::new (block) header{nullptr, static_cast<std::uint32_t>(size_class), false};
}

bool fails() noexcept {
    if (h.reserved != 0 || h.until_failure == 0) {
        return false;
    }
    --h.until_failure;
    if (h.until_failure != 0) {
        return false;
    }
    h.failed = true;
    note("an allocation fails");
    return true;
}

void* allocate(std::size_t size, std::size_t aligned) {
    if (!h.inside) {
        if (void* const place = test::system_block(size, aligned)) {
            return place;
        }
        throw std::bad_alloc();
    }
    if (aligned > alignment || fails()) {
        throw std::bad_alloc();
    }
    const std::size_t size_class = class_of(size);
    queue& free = h.free[size_class];
    header* block = free.first;
    if (block == nullptr) {
        block = cut(size_class);
    } else {
        free.first = block->next;
        if (!is_untouched(block)) {
            fail("memory was written after it was freed");
        }
    }
    block->live = true;
    h.in_use += block_size(size_class);
    void* const place = block + 1;
    allow(place, size);
    std::memset(place, fresh_byte, size);
    return place;
}

void release(void* place) noexcept {
    if (h.mapping == nullptr || place < h.mapping || place >= h.mapping + mapping_size) {
        test::free_system_block(place);
        return;
    }
    header* const block = static_cast<header*>(place) - 1;
    if (!block->live) {
        fail("memory was freed twice");
    }
    block->live = false;
    h.in_use -= block_size(block->size_class);
    block->next = nullptr;
    forbid(place, block_size(block->size_class) - sizeof(header));
    queue& free = h.free[block->size_class];
    switch (h.how) {
    case reuse::at_once:
        block->next = std::exchange(free.first, block);
        break;
    case reuse::late:
        (free.first == nullptr ? free.first : free.last->next) = block;
        free.last = block;
        break;
    case reuse::never:
        break;
    }
}

} // namespace

void begin(reuse how) noexcept {
    if (h.mapping == nullptr) {
        void* const mapped = ::mmap(nullptr, mapping_size, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped == MAP_FAILED) {
            std::perror("sim: mmap");
            std::abort();
        }
        h.mapping = static_cast<std::byte*>(mapped);
    }
    h.unused = h.mapping + alignment - sizeof(header);
    h.free = {};
    h.how = how;
    h.inside = true;
    h.reserved = 0;
    h.until_failure = 0;
    h.failed = false;
    h.in_use = 0;
}

std::size_t in_use() noexcept {
    return h.in_use;
}

loss end() noexcept {
    h.inside = false;
    loss found;
    std::byte* const first = h.mapping + alignment - sizeof(header);
    for (std::byte* at = first; at != h.unused;) {
        const auto& block = *reinterpret_cast<const header*>(at);
        at += block_size(block.size_class);
        if (block.live) {
            ++found.blocks;
            found.size = block_size(block.size_class) - sizeof(header);
        } else if (!is_untouched(&block)) {
            found.written = true;
        }
    }
    // A reference to this run's memory that outlives it is then found in the next run.
    allow(first, static_cast<std::size_t>(h.unused - first));
    forbid(first, static_cast<std::size_t>(h.unused - first));
    return found;
}

void fail_at(long k) noexcept {
    h.until_failure = k;
}

bool has_failed() noexcept {
    return h.failed;
}

reserve::reserve() noexcept {
    ++h.reserved;
}
reserve::~reserve() {
    --h.reserved;
}

outside::outside() noexcept : was_inside_(std::exchange(h.inside, false)) {}
outside::~outside() {
    h.inside = was_inside_;
}

} // namespace tryst::sim::memory

namespace tryst::test {

void* new_block(std::size_t size, std::size_t alignment) {
    return sim::memory::allocate(size, alignment);
}

void* try_new_block(std::size_t size, std::size_t alignment) noexcept {
    try {
        return sim::memory::allocate(size, alignment);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void delete_block(void* block) noexcept {
    sim::memory::release(block);
}

} // namespace tryst::test
