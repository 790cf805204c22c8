// SPDX-License-Identifier: MIT
/// @file
/// Uses tryst as an experienced user would on Asio: tries first, which takes no frame, and waits
/// only without a partner.
#pragma once

#include "ledger.hpp"

#include <tryst/exchanger.hpp>
#include <tryst/synchronous_channel.hpp>

#include <optional>

namespace tryst::bench {

class trying_exchange {
public:
    std::optional<item> exchange_at_once(item mine) {
        const auto got = ex_.try_exchange(mine);
        return got ? std::optional(*got) : std::nullopt;
    }
    auto exchange(item mine) { return ex_.exchange(mine); }
    void close() { ex_.close(); }

private:
    exchanger<item> ex_;
};

class trying_channel {
public:
    bool send_at_once(item it) { return channel_.try_send(it).has_value(); }
    std::optional<item> receive_at_once() {
        const auto got = channel_.try_receive();
        return got ? std::optional(*got) : std::nullopt;
    }
    auto send(item it) { return channel_.send(it); }
    auto receive() { return channel_.receive(); }

private:
    synchronous_channel<item> channel_;
};

} // namespace tryst::bench
