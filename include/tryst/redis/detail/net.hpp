// SPDX-License-Identifier: MIT
/// @file
/// The Asio of the Redis adapter: the standalone Asio, or Boost.Asio if TRYST_BOOST_ASIO is
/// defined. One program may use both in different files, as with `tryst::asio`.
#pragma once

#include <tryst/asio/detail/net.hpp>

#ifdef TRYST_BOOST_ASIO
#define TRYST_REDIS_BEGIN namespace tryst::redis::inline boost_asio {
#else
#define TRYST_REDIS_BEGIN namespace tryst::redis::inline standalone_asio {
#endif
#define TRYST_REDIS_END }

TRYST_REDIS_BEGIN
namespace net = tryst::asio::net;
using error_code = tryst::asio::error_code;
using system_error = tryst::asio::system_error;
TRYST_REDIS_END
