// SPDX-License-Identifier: MIT
/// @file
/// The settings of TLS, from the options.
/// Asio, OpenSSL.
#pragma once

#include "sockets.hpp"

#include <tryst/redis/options.hpp>

#include <memory>

TRYST_REDIS_BEGIN
namespace detail {

/// Reads the files that `chosen` names.
/// @throws std::runtime_error that names the file that cannot be used.
std::shared_ptr<net::ssl::context> make_tls_context(const tls_options& chosen);

} // namespace detail
TRYST_REDIS_END
