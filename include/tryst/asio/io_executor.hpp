// SPDX-License-Identifier: MIT
/// @file
/// The optional first argument of an initiating function.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>

TRYST_ASIO_BEGIN

/// An Asio executor, with the current interface or that of the Networking TS.
template <class Io>
concept io_executor = net::is_executor<Io>::value || net::execution::is_executor<Io>::value;

TRYST_ASIO_END
