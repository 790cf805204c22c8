// SPDX-License-Identifier: MIT
/// @file
/// Limits the number of connections, in total and per address.
/// Tested by tests/examples/pairing_connection_limiter_test.cpp.
#pragma once

#include "address.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace pairing {

/// The address under which a connection is counted. For IPv6 it is the /64 network, because a
/// single machine can use all addresses of its network. Link-local addresses are counted one by
/// one: all machines on a link share one network.
inline asio::ip::address counted_address(const asio::ip::address& any) {
    auto address = unmapped(any);
    if (!address.is_v6() || address.to_v6().is_link_local()) {
        return address;
    }
    auto bytes = address.to_v6().to_bytes();
    std::fill(bytes.begin() + 8, bytes.end(), std::uint8_t{0});
    return asio::ip::address_v6(bytes);
}

class connection_limiter {
    using counts = std::map<asio::ip::address, std::size_t>;

    struct release_permit {
        connection_limiter* owner;
        void operator()(counts::value_type* entry) const noexcept { owner->release(*entry); }
    };

public:
    /// A connection counts until its permit is destroyed.
    using permit = std::unique_ptr<counts::value_type, release_permit>;

    connection_limiter(std::size_t limit, std::size_t limit_per_address) noexcept
        : limit_(limit), limit_per_address_(limit_per_address) {}

    /// @returns null if a limit is reached.
    permit try_acquire(const asio::ip::address& address) {
        const std::scoped_lock lock(mutex_);
        if (total_ >= limit_) {
            return permit(nullptr, release_permit{this});
        }
        const auto entry = counts_.try_emplace(counted_address(address), 0).first;
        if (entry->second >= limit_per_address_) {
            return permit(nullptr, release_permit{this});
        }
        ++entry->second;
        ++total_;
        return permit(&*entry, release_permit{this});
    }

private:
    void release(counts::value_type& entry) noexcept {
        const std::scoped_lock lock(mutex_);
        --total_;
        if (--entry.second == 0) {
            counts_.erase(counts_.find(entry.first));
        }
    }

    const std::size_t limit_;
    const std::size_t limit_per_address_;
    std::mutex mutex_;
    counts counts_;
    std::size_t total_ = 0;
};

} // namespace pairing
