// SPDX-License-Identifier: MIT
#include <tryst/uring/buffer_pool.hpp>

#include <tryst/detail/platform/atomic.hpp>

#include <limits>
#include <new>
#include <stdexcept>

#include <sys/mman.h>
#include <unistd.h>

namespace tryst::uring {

namespace {

std::uint64_t new_serial() noexcept {
    static tryst::detail::atomic<std::uint64_t> last{0};
    // Relaxed: the numbers only have to differ.
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

} // namespace

buffer_pool::buffer_pool(std::size_t count, std::size_t size)
    : serial_(new_serial()), count_(count) {
    if (count == 0 || size == 0) {
        throw std::invalid_argument("tryst::uring::buffer_pool: count and size must not be 0");
    }
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t pages = size / page + (size % page != 0);
    if (pages > std::numeric_limits<std::size_t>::max() / page / count) {
        throw std::bad_alloc();
    }
    size_ = pages * page;
    free_.reserve(count);
    void* const memory =
        ::mmap(nullptr, count * size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw std::bad_alloc();
    }
    memory_ = static_cast<std::byte*>(memory);
    for (std::size_t i = count; i != 0; --i) { // `acquire` takes the last
        free_.push_back(memory_ + (i - 1) * size_);
    }
}

buffer_pool::~buffer_pool() {
    assert(free_.size() == count_ &&
           "tryst: a buffer outlives its pool; give all buffers back first");
    ::munmap(memory_, count_ * size_);
}

buffer buffer_pool::acquire() noexcept {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
        return {};
    }
    std::byte* const data = free_.back();
    free_.pop_back();
    return {*this, data};
}

void buffer_pool::release(std::byte* data) noexcept {
    const std::lock_guard lock(mutex_);
    free_.push_back(data); // never allocates: the constructor has reserved the room
}

} // namespace tryst::uring
