// SPDX-License-Identifier: MIT
#include "buffer_table.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include <sys/uio.h>

namespace tryst::uring::detail {

buffer_table::~buffer_table() {
    if (exists_ && !ring_.is_in_child()) {
        // Destroying the ring would also unregister the buffers, but later. On a thread other than
        // the ring's, this call fails, which is harmless.
        io_uring_unregister_buffers(ring_.handle());
    }
}

int buffer_table::find(const buffer_pool* pool) const noexcept {
    if (pool == nullptr) {
        return -1;
    }
    const auto found = std::ranges::find(pools_, pool->serial());
    return found == pools_.end() ? -1 : static_cast<int>(found - pools_.begin());
}

int buffer_table::add(const buffer_pool& pool) noexcept {
    if (find(&pool) >= 0) {
        return 0;
    }
    const auto entry = std::ranges::find(pools_, 0U);
    if (entry == pools_.end()) {
        return ENOSPC;
    }
    if (!exists_) {
        const int error = -io_uring_register_buffers_sparse(ring_.handle(), context::max_pools);
        if (error != 0) {
            return error;
        }
        exists_ = true;
    }
    const int error = update(static_cast<int>(entry - pools_.begin()), pool.memory());
    if (error == 0) {
        *entry = pool.serial();
    }
    return error;
}

int buffer_table::remove(int entry) noexcept {
    const int error = update(entry, {});
    if (error == 0) {
        pools_[static_cast<std::size_t>(entry)] = 0;
    }
    return error;
}

/// Puts `memory` into an entry of the kernel's table. @returns an error number; 0 for success.
int buffer_table::update(int entry, std::span<std::byte> memory) noexcept {
    const iovec whole{memory.data(), memory.size()};
    const __u64 no_tag = 0;
    const int changed = io_uring_register_buffers_update_tag(
        ring_.handle(), static_cast<unsigned>(entry), &whole, &no_tag, 1);
    return changed < 0 ? -changed : 0;
}

} // namespace tryst::uring::detail
