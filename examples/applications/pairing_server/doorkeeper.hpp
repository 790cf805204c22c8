// SPDX-License-Identifier: MIT
/// @file
/// How many clients are inside, in all and of each address. Tested by tests/examples/pairing_doorkeeper_test.cpp.
#pragma once

#include "address.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace pairing {

/// The addresses that count as one. Of IPv6 that is a network of /64: a single machine has all of it to choose from.
/// (But not where the link is the network.)
inline asio::ip::address household_of(const asio::ip::address& any) {
    auto address = plain(any);
    if (!address.is_v6() || address.to_v6().is_link_local()) {
        return address;
    }
    auto bytes = address.to_v6().to_bytes();
    std::fill(bytes.begin() + 8, bytes.end(), std::uint8_t{0});
    return asio::ip::address_v6(bytes);
}

class doorkeeper {
    using guest_list = std::map<asio::ip::address, std::size_t>;

    struct leave {
        doorkeeper* owner;
        void operator()(guest_list::value_type* entry) const noexcept { owner->let_out(*entry); }
    };

public:
    /// A client that was let in, until it is destroyed.
    using pass = std::unique_ptr<guest_list::value_type, leave>;

    doorkeeper(std::size_t most, std::size_t most_of_one_address) noexcept
        : most_(most), most_of_one_address_(most_of_one_address) {}

    /// A pass, or null if there are too many already.
    pass admit(const asio::ip::address& address) {
        const std::scoped_lock lock(mutex_);
        if (inside_ >= most_) {
            return pass(nullptr, leave{this});
        }
        const auto entry = guests_.try_emplace(household_of(address), 0).first;
        if (entry->second >= most_of_one_address_) {
            return pass(nullptr, leave{this});
        }
        ++entry->second;
        ++inside_;
        return pass(&*entry, leave{this});
    }

private:
    void let_out(guest_list::value_type& entry) noexcept {
        const std::scoped_lock lock(mutex_);
        --inside_;
        if (--entry.second == 0) {
            guests_.erase(guests_.find(entry.first));
        }
    }

    const std::size_t most_;
    const std::size_t most_of_one_address_;
    std::mutex mutex_;
    guest_list guests_;
    std::size_t inside_ = 0;
};

} // namespace pairing
