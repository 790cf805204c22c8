// SPDX-License-Identifier: MIT
/// @file
/// Selects the standalone Asio, or Boost.Asio if TRYST_BOOST_ASIO is defined. One program may use
/// both in different files, because each has an inline namespace of its own.
#pragma once

#ifdef TRYST_BOOST_ASIO
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
// NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a header
#define TRYST_ASIO_HEADER(name) <boost/asio/name.hpp>
#define TRYST_ASIO_BEGIN namespace tryst::asio::inline boost_asio {
#else
#include <asio/error_code.hpp>
#include <asio/system_error.hpp>
#include <asio/version.hpp>
// NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a header
#define TRYST_ASIO_HEADER(name) <asio/name.hpp>
#define TRYST_ASIO_BEGIN namespace tryst::asio::inline standalone_asio {
#endif
#define TRYST_ASIO_END }

#include TRYST_ASIO_HEADER(any_io_executor)
#include TRYST_ASIO_HEADER(associated_allocator)
#include TRYST_ASIO_HEADER(associated_cancellation_slot)
#include TRYST_ASIO_HEADER(associated_executor)
#include TRYST_ASIO_HEADER(associator)
#include TRYST_ASIO_HEADER(async_result)
#include TRYST_ASIO_HEADER(basic_waitable_timer)
#include TRYST_ASIO_HEADER(bind_cancellation_slot)
#include TRYST_ASIO_HEADER(cancellation_signal)
#include TRYST_ASIO_HEADER(defer)
#include TRYST_ASIO_HEADER(execution)
#include TRYST_ASIO_HEADER(execution_context)
#include TRYST_ASIO_HEADER(executor_work_guard)
#include TRYST_ASIO_HEADER(io_context)
#include TRYST_ASIO_HEADER(post)
#include TRYST_ASIO_HEADER(query)
#include TRYST_ASIO_HEADER(recycling_allocator)
#include TRYST_ASIO_HEADER(strand)
#include TRYST_ASIO_HEADER(system_context)
#include TRYST_ASIO_HEADER(system_executor)
#include TRYST_ASIO_HEADER(use_awaitable)
#include TRYST_ASIO_HEADER(wait_traits)
#if __has_include(TRYST_ASIO_HEADER(as_tuple))
#include TRYST_ASIO_HEADER(as_tuple)
#define TRYST_ASIO_HAS_AS_TUPLE 1
#else
#include <asio/experimental/as_tuple.hpp> // before Asio 1.24
#endif
#if __has_include(TRYST_ASIO_HEADER(associated_immediate_executor))
#include TRYST_ASIO_HEADER(associated_immediate_executor)
#include TRYST_ASIO_HEADER(dispatch)
#define TRYST_ASIO_HAS_IMMEDIATE_EXECUTORS 1
#endif

#if defined(ASIO_HAS_CO_AWAIT) || defined(BOOST_ASIO_HAS_CO_AWAIT)
#define TRYST_ASIO_HAS_COROUTINES 1
#else
static_assert(false, "tryst: Asio does not know that this compiler has coroutines: for Asio 1.22 "
                     "with clang, compile with -DASIO_HAS_CO_AWAIT -DASIO_HAS_STD_COROUTINE");
#endif

TRYST_ASIO_BEGIN
#ifdef TRYST_BOOST_ASIO
namespace net = ::boost::asio;
using error_code = ::boost::system::error_code;
using system_error = ::boost::system::system_error;
inline constexpr int hint_one_thread = BOOST_ASIO_CONCURRENCY_HINT_1;
inline constexpr int hint_no_locks = BOOST_ASIO_CONCURRENCY_HINT_UNSAFE;
#else
namespace net = ::asio;
using error_code = ::asio::error_code;
using system_error = ::asio::system_error;
inline constexpr int hint_one_thread = ASIO_CONCURRENCY_HINT_1;
inline constexpr int hint_no_locks = ASIO_CONCURRENCY_HINT_UNSAFE;
#endif
#ifdef TRYST_ASIO_HAS_AS_TUPLE
using net::as_tuple_t;
#else
using net::experimental::as_tuple_t;
#endif
TRYST_ASIO_END
