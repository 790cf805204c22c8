// SPDX-License-Identifier: MIT
/// @file
/// Starting one of the library's exchanges, of whatever kind, as an operation of Asio.
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

/* What a handler gets beside the error: the item that one has in the end, the partner's or the own one.
 *
 *   exchange_result<T, T>     T                          it is a T however it ends
 *   exchange_result<T, void>  std::optional<T>           there is one after a success, or
 *   exchange_result<void, T>  std::optional<T>           after a failure
 *   exchange_result<T, Own>   exchange_result<T, Own>    it is one or the other: the result knows which
 *
 * Items need not be default constructible, so there is no place for one that is not there. Rejected: the result
 * in every case. Its error would be there twice, and who sends and forgets would have to discard it by hand. */
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
    /// Only with a result.
    exchange_outcome(exchange_outcome&& other) noexcept
        : result_(std::in_place, *std::move(other.result_)) {}
    exchange_outcome& operator=(exchange_outcome&&) = delete;
    ~exchange_outcome() = default;

    void return_value(Result&& result) noexcept { result_.emplace(std::move(result)); }
    [[noreturn]] void unhandled_exception() const {
        throw;
    } // before the offer, out of the initiation

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

template <class IoExecutor, class Token, class Start>
auto async_start(const IoExecutor& io, Token&& token, Start start) {
    return net::async_initiate<Token, void(error_code, completion_of<Start>)>(
        initiate_exchange<IoExecutor>{{io}}, token, std::move(start));
}

/// `member(at, arguments..., stop)` makes the operation: `at` is an exchanger or a channel.
template <class IoExecutor, class Token, class Member, class At, class... Arguments>
auto async_call(const IoExecutor& io, Token&& token, Member member, At& at,
                Arguments... arguments) {
    return async_start(io, std::forward<Token>(token),
                       [member, &at, ... arguments = std::move(arguments)](
                           slot_stop::token stop) mutable noexcept {
                           return member(at, std::move(arguments)..., stop);
                       });
}

} // namespace detail
TRYST_ASIO_END
