// SPDX-License-Identifier: MIT
#include "model/plain_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <sys/mman.h>

namespace tryst::model {

namespace {

/// Zeroed pages, taken when they are touched.
void* reserve(std::size_t size) {
    void* const pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) {
        std::abort();
    }
    return pages;
}

constexpr std::size_t granule_size = 8;

} // namespace

plain_memory::plain_memory()
    : base_(static_cast<std::byte*>(reserve(total_size))),
      granules_(static_cast<granule*>(reserve(total_size / granule_size * sizeof(granule)))),
      bytes_(static_cast<cell*>(reserve(total_size * sizeof(cell)))) {
    begin_execution();
}

plain_memory::~plain_memory() {
    ::munmap(base_, total_size);
    ::munmap(granules_, total_size / granule_size * sizeof(granule));
    ::munmap(bytes_, total_size * sizeof(cell));
}

void plain_memory::begin_execution() noexcept {
    ++execution_;
    live_count_ = 0;
    for (std::size_t i = 0; i != max_threads; ++i) {
        heaps_[i].next = base_ + max_threads * stack_size + i * heap_size;
        heaps_[i].free_count = 0;
    }
}

std::span<std::byte> plain_memory::stack(std::size_t thread) noexcept {
    return {base_ + thread * stack_size, stack_size};
}

inline plain_memory::granule& plain_memory::granule_at(std::size_t index,
                                                       std::size_t thread) noexcept {
    granule& g = granules_[index];
    if (g.execution != execution_) {
        // What nobody has allocated yet is as if it had been freed.
        const bool on_heap = index * granule_size >= max_threads * stack_size;
        const access last = on_heap ? access::release : access::allocation;
        g.execution = execution_;
        g.split = false;
        g.whole.writer = static_cast<std::uint8_t>(thread);
        g.whole.last_write = last;
        g.whole.readers = 0;
        g.whole.written = 0;
    }
    return g;
}

inline conflict plain_memory::enter(cell& used, access kind, std::size_t thread,
                                    const view& now) noexcept {
    const moment at = now.happened[thread];
    if (kind != access::allocation) {
        if (used.last_write == access::release || used.written > now.happened[used.writer]) {
            return {true, used.last_write, used.writer};
        }
        if (kind == access::read) {
            used.read[thread] = at;
            used.readers |= static_cast<std::uint8_t>(1U << thread);
            return {};
        }
        for (unsigned left = used.readers; left != 0; left &= left - 1) {
            const auto reader = static_cast<std::size_t>(std::countr_zero(left));
            if (used.read[reader] > now.happened[reader]) {
                return {true, access::read, reader};
            }
        }
    }
    used.writer = static_cast<std::uint8_t>(thread);
    used.last_write = kind;
    used.readers = 0;
    used.written = at;
    return {};
}

conflict plain_memory::enter(access kind, const void* address, std::size_t size, std::size_t thread,
                             const view& now) noexcept {
    const std::size_t first = offset_of(address);
    const std::size_t end = first + size;
    for (std::size_t at = first; at != end;) {
        const std::size_t index = at / granule_size;
        const std::size_t start = index * granule_size;
        const std::size_t stop = std::min(end, start + granule_size);
        const bool whole = stop - at == granule_size;
        granule& g = granule_at(index, thread);
        conflict found;
        if (whole && !g.split) {
            found = enter(g.whole, kind, thread, now);
        } else {
            if (!g.split) {
                g.split = true;
                std::fill_n(bytes_ + start, granule_size, g.whole);
            }
            for (std::size_t i = at; i != stop && !found.found; ++i) {
                found = enter(bytes_[i], kind, thread, now);
            }
            if (whole && kind != access::read) { // one again
                g.split = false;
                g.whole = bytes_[start];
            }
        }
        if (found.found) {
            return found;
        }
        at = stop;
    }
    return {};
}

void plain_memory::hand_over(std::span<std::byte> block, const view& known,
                             std::size_t thread) noexcept {
    const auto forget = [&](cell& used) {
        if (used.written <= known.happened[used.writer]) {
            used.writer = static_cast<std::uint8_t>(thread);
            used.written = 0;
        }
        for (std::size_t reader = 0; reader != max_threads; ++reader) {
            if (used.was_read_by(reader) && used.read[reader] <= known.happened[reader]) {
                used.readers ^= static_cast<std::uint8_t>(1U << reader);
            }
        }
    };
    const std::size_t first = offset_of(block.data());
    for (std::size_t i = first; i < first + block.size(); i += granule_size) {
        granule& g = granule_at(i / granule_size, thread);
        if (!g.split) {
            forget(g.whole);
        } else {
            std::for_each_n(bytes_ + i, granule_size, forget);
        }
    }
}

plain_memory::header& plain_memory::header_of(const void* block) noexcept {
    return *reinterpret_cast<header*>(const_cast<std::byte*>(static_cast<const std::byte*>(block)) -
                                      sizeof(header));
}

void* plain_memory::allocate(std::size_t size, std::size_t alignment, std::size_t thread) noexcept {
    constexpr std::size_t unit = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
    alignment = alignment < unit ? unit : alignment;
    const std::size_t room = (size + sizeof(header) + alignment + unit - 1) / unit * unit;
    heap& mine = heaps_[thread];
    std::byte* start = nullptr;
    for (std::size_t i = mine.free_count; i-- != 0 && start == nullptr;) {
        if (mine.free[i].room == room) {
            start = mine.free[i].start;
            mine.free[i] = mine.free[--mine.free_count];
        }
    }
    if (live_count_ == max_live_blocks) {
        return nullptr;
    }
    if (start == nullptr) {
        std::byte* const end = base_ + max_threads * stack_size + (thread + 1) * heap_size;
        if (static_cast<std::size_t>(end - mine.next) < room) {
            return nullptr;
        }
        start = mine.next;
        mine.next += room;
    }
    const auto lowest = reinterpret_cast<std::uintptr_t>(start) + sizeof(header);
    auto* const block = start + sizeof(header) + (alignment - lowest % alignment) % alignment;
    header_of(block) = {start, room, size};
    live_[live_count_++] = block;
    return block;
}

std::size_t plain_memory::size_of(const void* block) noexcept {
    return header_of(block).size;
}

void plain_memory::give_back(void* block, std::size_t thread) noexcept {
    const header& old = header_of(block);
    heap& mine = heaps_[thread];
    if (mine.free_count != std::size(mine.free)) {
        mine.free[mine.free_count++] = {old.start, old.room};
    }
    for (std::size_t i = 0; i != live_count_; ++i) {
        if (live_[i] == block) {
            live_[i] = live_[--live_count_];
            break;
        }
    }
}

std::span<std::byte> plain_memory::block_of(const void* address) noexcept {
    for (std::size_t i = 0; i != live_count_; ++i) {
        const std::size_t size = size_of(live_[i]);
        if (address >= live_[i] && address < live_[i] + size) {
            return {live_[i], size};
        }
    }
    return {};
}

} // namespace tryst::model
