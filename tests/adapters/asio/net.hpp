// SPDX-License-Identifier: MIT
/// @file
/// The Asio under test, under names that both Asios have.
#pragma once

#include <tryst/asio.hpp>

#ifdef TRYST_BOOST_ASIO

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#else

#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#include <asio/version.hpp>

#if ASIO_VERSION >= 102400
#include <asio/as_tuple.hpp>
#include <asio/deferred.hpp>
#else
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/deferred.hpp>
#endif

#endif

namespace tryst::test {

namespace net = tryst::asio::net;
using tryst::asio::error_code;

#if defined(TRYST_BOOST_ASIO) || ASIO_VERSION >= 102400
using net::as_tuple;
using net::deferred;
#else
using net::experimental::as_tuple;
using net::experimental::deferred;
#endif
#ifdef TRYST_BOOST_ASIO
using system_error = boost::system::system_error;
#else
using system_error = std::system_error;
#endif

} // namespace tryst::test
