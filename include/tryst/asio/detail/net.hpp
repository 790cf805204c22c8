// SPDX-License-Identifier: MIT
/// @file
/// Selects the standalone Asio, or Boost.Asio if TRYST_BOOST_ASIO is defined. One program may use
/// both in different files, because each has an inline namespace of its own.
#pragma once

#include <system_error>

#ifdef TRYST_BOOST_ASIO

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/defer.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/recycling_allocator.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_context.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/wait_traits.hpp>
#if __has_include(<boost/asio/associated_immediate_executor.hpp>)
#include <boost/asio/associated_immediate_executor.hpp>
#include <boost/asio/dispatch.hpp>
#define TRYST_ASIO_HAS_IMMEDIATE_EXECUTORS 1
#endif
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

namespace tryst::asio::inline boost_asio {
namespace net = ::boost::asio;
using error_code = ::boost::system::error_code;
using system_error = ::boost::system::system_error;
using net::as_tuple_t;
} // namespace tryst::asio::inline boost_asio

#define TRYST_ASIO_BEGIN namespace tryst::asio::inline boost_asio {
#define TRYST_ASIO_END }

#else

#include <asio/any_io_executor.hpp>
#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/associator.hpp>
#include <asio/async_result.hpp>
#include <asio/basic_waitable_timer.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/defer.hpp>
#include <asio/execution.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>
#include <asio/recycling_allocator.hpp>
#include <asio/strand.hpp>
#include <asio/system_context.hpp>
#include <asio/system_error.hpp>
#include <asio/system_executor.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/version.hpp>
#include <asio/wait_traits.hpp>
#if __has_include(<asio/as_tuple.hpp>)
#include <asio/as_tuple.hpp>
#else
#include <asio/experimental/as_tuple.hpp>
#endif
#if __has_include(<asio/associated_immediate_executor.hpp>)
#include <asio/associated_immediate_executor.hpp>
#include <asio/dispatch.hpp>
#define TRYST_ASIO_HAS_IMMEDIATE_EXECUTORS 1
#endif

namespace tryst::asio::inline standalone_asio {
namespace net = ::asio;
using error_code = ::asio::error_code;
using system_error = ::asio::system_error;
#if __has_include(<asio/as_tuple.hpp>)
using net::as_tuple_t;
#else
using net::experimental::as_tuple_t; // before Asio 1.24
#endif
} // namespace tryst::asio::inline standalone_asio

#define TRYST_ASIO_BEGIN namespace tryst::asio::inline standalone_asio {
#define TRYST_ASIO_END }

#endif
