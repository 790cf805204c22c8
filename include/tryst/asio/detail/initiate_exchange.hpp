// SPDX-License-Identifier: MIT
/// @file
/// Starts any exchange, transfer or receipt as an Asio operation.
/// Asio.
#pragma once

#include <tryst/asio/detail/driver.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/result.hpp>

#include <optional>
#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/* The second argument of a handler: the item that the party has at the end.
 *
 *   exchange_result<T, T>     T                          a T in either case
 *   exchange_result<T, void>  std::optional<T>           an item after a success only
 *   exchange_result<void, T>  std::optional<T>           an item after a failure only
 *   exchange_result<T, Own>   exchange_result<T, Own>    the result tells which of the two
 *
 * Items need not be default constructible, so a missing item cannot be a default T.
 *
 * Rejected: the result in every case. It would report the error twice, and a sender that ignores
 * the outcome would have to discard it explicitly. */
template <class T>
T item_in_the_end(exchange_result<T, T>&& result) noexcept {
    return result ? *std::move(result) : std::move(result).returned();
}
template <class T>
std::optional<T> item_in_the_end(exchange_result<T, void>&& result) noexcept {
    return result ? std::optional<T>(*std::move(result)) : std::nullopt;
}
template <class T>
std::optional<T> item_in_the_end(exchange_result<void, T>&& result) noexcept {
    return result ? std::nullopt : std::optional<T>(std::move(result).returned());
}
template <class T, class Own>
exchange_result<T, Own> item_in_the_end(exchange_result<T, Own>&& result) noexcept {
    return std::move(result);
}

/// The outcome of an exchange, as `void(error_code, ...)`.
template <class Result>
class exchange_outcome {
public:
    static constexpr bool stoppable = true;
    static constexpr bool runs_tasks = false;

    exchange_outcome() = default;
    /// Precondition: `other` has a result.
    exchange_outcome(exchange_outcome&& other) noexcept
        : result_(std::in_place, *std::move(other.result_)) {}
    exchange_outcome& operator=(exchange_outcome&&) = delete;
    ~exchange_outcome() = default;

    void return_value(Result&& result) noexcept { result_.emplace(std::move(result)); }
    /// Out of the initiating function: an exception can only come before the offer.
    [[noreturn]] void unhandled_exception() const { throw; }

    template <class Handler>
    void tell(Handler&& handler) && {
        std::forward<Handler>(handler)(error_code(result_->error()),
                                       item_in_the_end(*std::move(result_)));
    }

private:
    std::optional<Result> result_;
};

template <class Handler, class IoExecutor, class Start>
auto drive_exchange(initiation<Handler, IoExecutor>& /*from*/, Start& start) ->
    typename driver<Handler, IoExecutor,
                    exchange_outcome<result_of<started_by<Start>>>>::coroutine {
    const slot_stop::token stop = co_await own_stop_token();
    co_return co_await start(stop);
}

/// Tells completion tokens the I/O executor, if there is one.
template <class IoExecutor>
struct initiated_on {
    using executor_type = IoExecutor;
    executor_type get_executor() const noexcept { return io; }
    IoExecutor io;
};
template <>
struct initiated_on<no_io_executor> {
    no_io_executor io;
};

/// Initiates an exchange. `start` makes the operation from a stop token.
template <class IoExecutor>
struct initiate_exchange : initiated_on<IoExecutor> {
    template <class Handler, class Start>
    void operator()(Handler&& handler, Start start) const {
        std::decay_t<Handler> own(std::forward<Handler>(handler));
        initiation<std::decay_t<Handler>, IoExecutor> from{own, this->io};
        drive_exchange(from, start).promise.start();
    }
};

template <class Start>
using completion_of = decltype(item_in_the_end(std::declval<result_of<started_by<Start>>>()));

} // namespace detail
TRYST_ASIO_END
