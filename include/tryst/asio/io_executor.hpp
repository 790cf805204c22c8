// SPDX-License-Identifier: MIT
/// @file
/// What may stand before the arguments of an Asio operation, as if they were an I/O object.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>

TRYST_ASIO_BEGIN

/// An executor of Asio, of the present kind or of the Networking TS.
template <class Io>
concept io_executor = net::is_executor<Io>::value || net::execution::is_executor<Io>::value;

TRYST_ASIO_END
