// SPDX-License-Identifier: MIT
/// @file
/// tryst on Asio: the standalone one, or Boost's if TRYST_BOOST_ASIO is defined.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#ifdef TRYST_ASIO_HAS_COROUTINES // else net.hpp says so, and no other error is to follow
#include <tryst/asio/async_wait.hpp>
#include <tryst/asio/bind_stop_token.hpp>
#include <tryst/asio/task_executor.hpp>
#include <tryst/asio/wait.hpp>
#endif
#include <tryst/tryst.hpp>
