// SPDX-License-Identifier: MIT
/// @file
/// The type of the function objects that start exchanges, such as `async_exchange`.
/// Asio.
#pragma once

#include <tryst/asio/detail/handler_traits.hpp>
#include <tryst/asio/detail/initiate.hpp>
#include <tryst/asio/detail/initiate_exchange.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/suspended_exchange.hpp>
#include <tryst/asio/io_executor.hpp>
#include <tryst/detail/run/text.hpp>

#include <chrono>
#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/// The limit that a function object takes.
enum class limit : unsigned char { none, patience, deadline };

template <class Rep, class Period>
std::integral_constant<limit, limit::patience> limit_of(const std::chrono::duration<Rep, Period>&);
template <class Duration>
std::integral_constant<limit, limit::deadline>
limit_of(const std::chrono::time_point<std::chrono::steady_clock, Duration>&);

/// `Time` is a limit of the kind `Limit`.
template <class Time, limit Limit>
concept limit_as = decltype(detail::limit_of(std::declval<const Time&>()))::value == Limit;

/// Describes a place (an exchanger or channel), and the item that an operation brings there; void
/// if none.
template <class Place, class Item>
struct venue {
    using place = Place;
    using item = Item;
};

/// Initiates `Operation` at a place. `arguments` are the item and the limit, if any. Not a
/// member function: the type of its closure, and with it many symbol names, would contain `Usage`.
template <class Operation, limit Limit, class IoExecutor, class Token, class Place,
          class... Arguments>
auto async_call(const IoExecutor& io, Token&& token, Place& place, Arguments... arguments) {
    auto make = [&place, ... arguments = std::move(arguments)]() mutable noexcept {
        if constexpr (Limit == limit::none) {
            return Operation::make(place, std::move(arguments)...);
        } else if constexpr (Limit == limit::patience) {
            return Operation::make_for(place, std::move(arguments)...);
        } else {
            return Operation::make_until(place, std::move(arguments)...);
        }
    };
    using form = awaitable_token<std::decay_t<Token>>;
    if constexpr (form::makes_awaitable) {
        return detail::await_made<typename form::executor, typename form::form>(io,
                                                                                std::move(make));
    } else {
        return detail::initiate<void(error_code, completion_of<decltype(make)>), Token>(
            initiate_exchange<IoExecutor>{{io}}, token, std::move(make));
    }
}

/* One overload set for all initiating functions. The arguments are
 *
 *   ([io_executor,] place, [item,] [limit,] token)
 *
 * `Operation` has a function `at` that returns the `venue` for a place, and functions that make the
 * operation. The type of the item does not depend on the argument, so the argument may be anything
 * that converts to that type, even `{}`.
 *
 * A call that matches no other overload finds the deleted one, because an ellipsis is the worst
 * match. Compilers then quote `Usage`, and a requires-expression is false.
 *
 * @tparam Limit  the kind of limit between item and token.
 * @tparam Usage  the name of the function and its parameters. */
template <class Operation, limit Limit, tryst::detail::text Usage>
struct initiating_function {
private:
    template <class Place>
    using venue_type = decltype(Operation::at(std::declval<Place&>()));
    template <class Place>
    using item_type = typename venue_type<Place>::item;
    template <class Place>
    static constexpr bool takes_no_item = std::is_void_v<item_type<Place>>;

    static constexpr no_io_executor no_io{};

    template <class Place, class... Arguments>
    static auto call(const auto& io, auto&& token, Place& at, Arguments... arguments) {
        typename venue_type<Place>::place& place = at;
        return detail::async_call<Operation, Limit>(io, std::forward<decltype(token)>(token), place,
                                                    std::move(arguments)...);
    }

public:
    template <class Place, class Token>
        requires(Limit == limit::none)
    auto operator()(Place& at, item_type<Place> item, Token&& token) const {
        return call(no_io, std::forward<Token>(token), at, std::move(item));
    }
    template <io_executor Io, class Place, class Token>
        requires(Limit == limit::none)
    auto operator()(const Io& io, Place& at, item_type<Place> item, Token&& token) const {
        return call(io, std::forward<Token>(token), at, std::move(item));
    }

    template <class Place, limit_as<Limit> Time, class Token>
    auto operator()(Place& at, item_type<Place> item, Time time, Token&& token) const {
        return call(no_io, std::forward<Token>(token), at, std::move(item), time);
    }
    template <io_executor Io, class Place, limit_as<Limit> Time, class Token>
    auto operator()(const Io& io, Place& at, item_type<Place> item, Time time,
                    Token&& token) const {
        return call(io, std::forward<Token>(token), at, std::move(item), time);
    }

    template <class Place, class Token>
        requires(Limit == limit::none && takes_no_item<Place>)
    auto operator()(Place& at, Token&& token) const {
        return call(no_io, std::forward<Token>(token), at);
    }
    template <io_executor Io, class Place, class Token>
        requires(Limit == limit::none && takes_no_item<Place>)
    auto operator()(const Io& io, Place& at, Token&& token) const {
        return call(io, std::forward<Token>(token), at);
    }

    template <class Place, limit_as<Limit> Time, class Token>
        requires takes_no_item<Place>
    auto operator()(Place& at, Time time, Token&& token) const {
        return call(no_io, std::forward<Token>(token), at, time);
    }
    template <io_executor Io, class Place, limit_as<Limit> Time, class Token>
        requires takes_no_item<Place>
    auto operator()(const Io& io, Place& at, Time time, Token&& token) const {
        return call(io, std::forward<Token>(token), at, time);
    }

    void operator()(...) const = delete; // wrong arguments
};

} // namespace detail
TRYST_ASIO_END
