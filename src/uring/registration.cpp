// SPDX-License-Identifier: MIT
// The part of the reactor that registers buffers with the kernel.
#include "reactor.hpp"

#include <algorithm>
#include <cerrno>

#include <sys/uio.h>

namespace tryst::uring::detail {

result<void> reactor::register_buffers(const buffer_pool& pool) noexcept {
    const auto outcome = [](int error) {
        return result<void>("register_buffers", {error, std::system_category()});
    };
    if (registration_of(&pool) >= 0) {
        return outcome(0);
    }
    const auto entry = std::ranges::find(pools_, 0U);
    if (entry == pools_.end()) {
        return outcome(ENOSPC);
    }
    if (!has_table_) {
        const int error = -io_uring_register_buffers_sparse(&ring_, context::max_pools);
        if (error != 0) {
            return outcome(error);
        }
        has_table_ = true;
    }
    // One entry of the table for all buffers of the pool: an operation may use any part of one.
    const int error = change_registration(static_cast<int>(entry - pools_.begin()), pool.memory());
    if (error == 0) {
        *entry = pool.serial();
    }
    return outcome(error);
}

result<void> reactor::unregister_buffers(const buffer_pool& pool) noexcept {
    const auto outcome = [](int error) {
        return result<void>("unregister_buffers", {error, std::system_category()});
    };
    const int registration = registration_of(&pool);
    if (registration < 0) {
        return outcome(ENOENT);
    }
    if (is_in_use(registration)) {
        return outcome(EBUSY);
    }
    const int error = change_registration(registration, {});
    if (error == 0) {
        pools_[static_cast<std::size_t>(registration)] = 0;
    }
    return outcome(error);
}

/// Puts `memory` into this entry of the kernel's table. @returns the error; 0 if there is none.
int reactor::change_registration(int entry, std::span<std::byte> memory) noexcept {
    const iovec whole{memory.data(), memory.size()};
    const __u64 tag = 0;
    const int changed =
        io_uring_register_buffers_update_tag(&ring_, static_cast<unsigned>(entry), &whole, &tag, 1);
    return changed < 0 ? -changed : 0;
}

/// Whether an operation that has been awaited and is not over uses this registration.
bool reactor::is_in_use(int registration) const noexcept {
    for (const list_links* const list : {&starts_, &cancels_, &in_flight_}) {
        for (const list_links* link = list->following; link != list; link = link->following) {
            const request& what = static_cast<const operation_base*>(link)->request_;
            const bool fixed = what.code == opcode::read_fixed || what.code == opcode::write_fixed;
            if (fixed && what.buffer == registration) {
                return true;
            }
        }
    }
    return false;
}

int reactor::registration_of(const buffer_pool* pool) const noexcept {
    if (pool == nullptr) {
        return -1;
    }
    const auto found = std::ranges::find(pools_, pool->serial());
    return found == pools_.end() ? -1 : static_cast<int>(found - pools_.begin());
}

} // namespace tryst::uring::detail
