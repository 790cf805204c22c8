// SPDX-License-Identifier: MIT
/// @file
/// How many clients are inside, in all and of each address.
#pragma once

#include <asio/ip/address.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace pairing {

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
        const auto entry = guests_.try_emplace(address, 0).first;
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
