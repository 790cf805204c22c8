// SPDX-License-Identifier: MIT
/// @file
/// Shared by the two listeners of the server.
#pragma once

#include "asio_helpers.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <string>
#include <system_error>

namespace pairing {

/// @throws std::system_error if it cannot listen.
inline tcp::acceptor listen(asio::io_context& loop, const std::string& address,
                            std::uint16_t port) {
    try {
        return {loop, {asio::ip::make_address(address), port}};
    } catch (const std::system_error& problem) {
        throw std::system_error(problem.code(),
                                fmt::format("cannot listen on {} port {}", address, port));
    }
}

/// For asio::co_spawn. An exception that escapes from a coroutine is a defect: it ends the program.
inline void rethrow(const std::exception_ptr& escaped) {
    if (escaped) {
        std::rethrow_exception(escaped);
    }
}

} // namespace pairing
