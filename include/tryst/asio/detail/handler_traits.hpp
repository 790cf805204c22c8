// SPDX-License-Identifier: MIT
/// @file
/// The executor, the allocator and the work of a completion handler.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>

#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

template <class Operation>
using result_of = decltype(std::declval<Operation&>().await_resume());

/// Stands for a missing I/O executor. Everything then happens on the handler's executor.
struct no_io_executor {};

template <class Handler, class IoExecutor = no_io_executor>
using completion_executor =
    net::associated_executor_t<Handler,
                               std::conditional_t<std::is_same_v<IoExecutor, no_io_executor>,
                                                  net::system_executor, IoExecutor>>;

/// The executor on which `handler` is to run.
template <class Handler>
completion_executor<Handler> executor_for(const Handler& handler,
                                          const no_io_executor& /*io*/) noexcept {
    return net::get_associated_executor(handler, net::system_executor());
}
template <class Handler, class IoExecutor>
completion_executor<Handler, IoExecutor> executor_for(const Handler& handler,
                                                      const IoExecutor& io) noexcept {
    return net::get_associated_executor(handler, io);
}

/// The memory of an operation comes from the handler's associated allocator. If the handler has
/// none, it is Asio's recycled memory.
template <class Handler>
auto allocator_for(const Handler& handler) noexcept {
    return net::get_associated_allocator(handler, net::recycling_allocator<void>());
}

#if TRYST_ASIO_HAS_IMMEDIATE_EXECUTORS
/// Whether the handler names an executor on which it may run within the initiating function, as
/// handlers in `bind_immediate_executor` do (since Asio 1.28).
template <class Handler, class Executor>
concept has_immediate_executor =
    !std::is_same_v<net::associated_immediate_executor_t<Handler, Executor>,
                    net::associated_immediate_executor_t<void (*)(), Executor>>;
#endif

/// Keeps the I/O executor's context from running out of work.
template <class IoExecutor>
struct io_work {
    explicit io_work(const IoExecutor& io) : guard(io) {}
    IoExecutor executor() const noexcept { return guard.get_executor(); }
    net::executor_work_guard<IoExecutor> guard;
};
template <>
struct io_work<no_io_executor> {
    explicit io_work(const no_io_executor& /*io*/) noexcept {}
    no_io_executor executor() const noexcept { return {}; }
};

} // namespace detail
TRYST_ASIO_END
