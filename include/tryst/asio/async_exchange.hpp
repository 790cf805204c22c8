// SPDX-License-Identifier: MIT
/// @file
/// Exchanges as Asio operations.
/// Asio.
#pragma once

#include <tryst/asio/detail/driver.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/result.hpp>

#include <chrono>
#include <optional>
#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/// The outcome of an exchange, as `void(error_code, T)`.
template <class T>
class exchange_outcome {
public:
    static constexpr bool stoppable = true;
    static constexpr bool runs_tasks = false;

    exchange_outcome() = default;
    /// Only with a result.
    exchange_outcome(exchange_outcome&& other) noexcept
        : result_(std::in_place, *std::move(other.result_)) {}
    exchange_outcome& operator=(exchange_outcome&&) = delete;
    ~exchange_outcome() = default;

    void return_value(exchange_result<T>&& result) noexcept { result_.emplace(std::move(result)); }
    [[noreturn]] void unhandled_exception() const {
        throw;
    } // before the offer, out of the initiation

    template <class Handler>
    void tell(Handler&& handler) && {
        exchange_result<T>& result = *result_;
        std::forward<Handler>(handler)(error_code(result.error()),
                                       result ? *std::move(result) : std::move(result).returned());
    }

private:
    std::optional<exchange_result<T>> result_;
};

template <class Handler, class IoExecutor, class T, class Start>
auto drive_exchange(initiation<Handler, IoExecutor>& /*from*/, std::type_identity<T> /*item*/,
                    Start& start) ->
    typename driver<Handler, IoExecutor, exchange_outcome<T>>::coroutine {
    const slot_stop::token stop = co_await own_stop_token();
    co_return co_await start(stop);
}

/// What tokens ask an initiation for: the I/O executor, if there is one.
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

/// Initiates an exchange; `start` makes the operation, given a stop token.
template <class T, class IoExecutor>
struct initiate_exchange : initiated_on<IoExecutor> {
    template <class Handler, class Start>
    void operator()(Handler&& handler, Start start) const {
        std::decay_t<Handler> own(std::forward<Handler>(handler));
        initiation<std::decay_t<Handler>, IoExecutor> from{own, this->io};
        drive_exchange(from, std::type_identity<T>(), start).promise.start();
    }
};

template <class T, class IoExecutor, class Token, class Start>
auto async_exchange(const IoExecutor& io, Token&& token, Start start) {
    return net::async_initiate<Token, void(error_code, T)>(initiate_exchange<T, IoExecutor>{{io}},
                                                           token, std::move(start));
}

/// The three ways to exchange, before they get their stop token.
template <class T>
auto plain_start(exchanger<T>& ex, T item) {
    return [&ex, item = std::move(item)](auto stop) mutable noexcept {
        return ex.exchange(std::move(item), stop);
    };
}
template <class T, class Duration>
auto start_for(exchanger<T>& ex, T item, Duration patience) {
    return [&ex, item = std::move(item), patience](auto stop) mutable noexcept {
        return ex.exchange_for(std::move(item), patience, stop);
    };
}
template <class T, class TimePoint>
auto start_until(exchanger<T>& ex, T item, TimePoint deadline) {
    return [&ex, item = std::move(item), deadline](auto stop) mutable noexcept {
        return ex.exchange_until(std::move(item), deadline, stop);
    };
}

} // namespace detail

/// An executor of Asio, of the present kind or of the Networking TS.
template <class Io>
concept io_executor = net::is_executor<Io>::value || net::execution::is_executor<Io>::value;

/// Offers `item`; completes when a partner swaps, or when the exchanger is closed.
///
/// @tparam Token  any completion token for `void(error_code, T)`: a callback, `use_awaitable`, `use_future`,
///   `deferred`, `as_tuple(...)`.
/// @returns     what the token makes of it. Without error `T` is the partner's item; with an error, one of
///              `exchange_errc`, it is the own item back. (A token that turns errors into exceptions, as a
///              plain `use_awaitable` does, drops the item then: `as_tuple` keeps it.)
/// @throws      what making the handler throws, and std::bad_alloc; then nothing was offered, and `item` is
///              destroyed.
/// @progress    lock-free until suspension.
/// @resumes     the handler on its associated executor, by way of its queue, never within this call. A handler
///              without one runs on the system executor, as in `asio::post`.
/// @cancellation by the handler's cancellation slot; terminal, partial and total mean the same, because a
///              failure means that nothing was exchanged; a match wins over a later cancellation. If the
///              executor's context is destroyed first, the offer is withdrawn and the handler destroyed.
/// @sync        everything before the partner's exchange happens-before the handler, and vice versa.
/// @allocation  one frame, by the handler's associated allocator, freed before the handler is called; and what
///              a polymorphic executor (`any_io_executor`) takes to queue it. Where that fails, it is a
///              `std::terminate`: the offer is made already.
template <class T, class Token>
auto async_exchange(exchanger<T>& ex, std::type_identity_t<T> item, Token&& token) {
    return detail::async_exchange<T>(detail::no_io_executor(), std::forward<Token>(token),
                                     detail::plain_start(ex, std::move(item)));
}

/// As above, for at most `patience`: then `timed_out`, never early. Deadlines are kept by a thread of the
/// library, not by the executor's context.
template <class T, class Rep, class Period, class Token>
auto async_exchange_for(exchanger<T>& ex, std::type_identity_t<T> item,
                        std::chrono::duration<Rep, Period> patience, Token&& token) {
    return detail::async_exchange<T>(detail::no_io_executor(), std::forward<Token>(token),
                                     detail::start_for(ex, std::move(item), patience));
}

/// As above, until `deadline` (steady_clock).
template <class T, class Duration, class Token>
auto async_exchange_until(exchanger<T>& ex, std::type_identity_t<T> item,
                          std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                          Token&& token) {
    return detail::async_exchange<T>(detail::no_io_executor(), std::forward<Token>(token),
                                     detail::start_until(ex, std::move(item), deadline));
}

/// The same with an I/O executor, as if `ex` were an I/O object of it: a handler without an executor of its
/// own runs there, and its context has outstanding work until the exchange has completed. If the handler's is
/// another, both contexts must outlive the operation.
template <io_executor Io, class T, class Token>
auto async_exchange(const Io& io, exchanger<T>& ex, std::type_identity_t<T> item, Token&& token) {
    return detail::async_exchange<T>(io, std::forward<Token>(token),
                                     detail::plain_start(ex, std::move(item)));
}
template <io_executor Io, class T, class Rep, class Period, class Token>
auto async_exchange_for(const Io& io, exchanger<T>& ex, std::type_identity_t<T> item,
                        std::chrono::duration<Rep, Period> patience, Token&& token) {
    return detail::async_exchange<T>(io, std::forward<Token>(token),
                                     detail::start_for(ex, std::move(item), patience));
}
template <io_executor Io, class T, class Duration, class Token>
auto async_exchange_until(const Io& io, exchanger<T>& ex, std::type_identity_t<T> item,
                          std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                          Token&& token) {
    return detail::async_exchange<T>(io, std::forward<Token>(token),
                                     detail::start_until(ex, std::move(item), deadline));
}

TRYST_ASIO_END
