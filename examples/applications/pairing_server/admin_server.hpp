// SPDX-License-Identifier: MIT
/// @file
/// The administrator's HTTP pages: /metrics, /livez and /readyz.
#pragma once

#include "shared_state.hpp"

#include <httplib.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace pairing {

/// Has threads of its own, so that it answers whatever the server's loops do.
class admin_server : httplib::Server {
public:
    /// The requests that are served at the same time: so many idle connections disturb nobody.
    static constexpr std::size_t threads = 32;

    /// @throws std::runtime_error if it cannot listen.
    admin_server(const shared_state& shared, const std::string& address, std::uint16_t port);
    admin_server(const admin_server&) = delete;
    admin_server& operator=(const admin_server&) = delete;
    ~admin_server() override;

    int port() const noexcept { return port_; }

private:
    bool bind(const std::string& address);

    int port_;
    std::atomic<bool> ended_ = false;
    std::jthread thread_;
};

} // namespace pairing
