// SPDX-License-Identifier: MIT
/// @file
/// Starting one of the library's exchanges, of whatever kind, as an operation of Asio.
/// Asio.
#pragma once

#include <tryst/asio/detail/initiation.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/operation_state.hpp>
#include <tryst/asio/detail/slot_stop.hpp>
#include <tryst/exchange_operation.hpp>
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

/// An exchange that belongs to its operation state, and completes as `void(error_code, ...)`.
template <class Operation>
class owned_exchange {
public:
    static constexpr bool stoppable = true;

    template <class Make>
    owned_exchange(Make& make, slot_stop::token stop) noexcept : operation_(make(stop)) {}

    auto& core() noexcept { return tryst::detail::operation_access::of(operation_); }
    bool try_match() noexcept { return core().try_match(); }
    auto take() noexcept { return core().take_result(); }

    template <class Handler, class Result>
    static void tell(Handler&& handler, Result&& result) {
        const error_code error(result.error());
        std::forward<Handler>(handler)(error, item_in_the_end(std::move(result)));
    }

private:
    Operation operation_;
};

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
        operation_state<std::decay_t<Handler>, IoExecutor,
                        owned_exchange<started_by<Start>>>::initiate(own, this->io, start);
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
