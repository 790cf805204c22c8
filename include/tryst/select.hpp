// SPDX-License-Identifier: MIT
/// @file
/// Waits for several exchanges, of which exactly one takes place.
/// Standard library only.
#pragma once

#include <tryst/detail/meet/awaitable_operation.hpp>
#include <tryst/detail/meet/event_case.hpp>
#include <tryst/detail/meet/selection.hpp>
#include <tryst/detail/meet/selection_case.hpp>
#include <tryst/detail/meet/selection_cases.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/select_result.hpp>
#include <tryst/sleep.hpp>
#include <tryst/wait_limit.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tryst {
/// @addtogroup meeting
/// @{

namespace detail {

struct selection_factory;

} // namespace detail

/// One selection, lazily started: it begins when it is awaited, by `co_await` or, on a plain
/// thread, by `sync_wait`. Await it at most once.
///
/// @returns     `select_result` or `select_from_result`: exactly one case took place, or none
///   because of the stop or the deadline. All other cases hand their items back.
/// @throws      nothing.
/// @progress    obstruction-free. A party that claims a selection's waiter while the selection is
///   being registered waits for the end of the registration (of 16 cases at most at a time). When a
///   selection is complete, it or its partner waits until parties that have claimed its other
///   waiters hand them back, which takes a few instructions. Two parties without selections are not
///   affected.
/// @resumes     as `exchange_operation`: on the executor that it was awaited on.
/// @cancellation total, as for `exchange_operation`: no case has taken place then.
/// @sync        as `exchange_operation`, for the case that took place.
/// @allocation  none, except as the exchangers of its cases do.
///
/// @tparam Cases   the cases, and the places where they wait.
/// @tparam Limits  what can end the wait besides a partner and a close.
template <class Cases, class Limits>
class [[nodiscard]] select_operation
    : public detail::awaitable_operation<detail::selection<Cases, Limits>> {
    using base = detail::awaitable_operation<detail::selection<Cases, Limits>>;
    friend struct detail::selection_factory;

    template <class... Arguments>
    explicit select_operation(Arguments&&... arguments) noexcept
        : base(std::forward<Arguments>(arguments)...) {}
};

namespace detail {

/// The case that an argument becomes.
template <class Case>
struct becomes {
    using type = Case;
    using list = std::tuple<std::type_identity<Case>>;
};
template <class Argument>
struct case_type {
    using list = std::tuple<>;
};
template <class Side, class Limits>
struct case_type<exchange_operation<Side, Limits>> : becomes<selection_case<Side>> {};
template <class Side>
struct case_type<conditional_case<Side>> : becomes<selection_case<Side>> {};
template <class Limit, class... StopToken>
struct case_type<sleep<Limit, StopToken...>> : becomes<time_case<Limit>> {};
template <class StopToken>
struct case_type<stop_event<StopToken>> : becomes<stop_case<StopToken>> {};

/// Whether an argument would be a case without its limits.
template <class>
inline constexpr bool is_limited_case = false;
template <class Side, class Limits>
inline constexpr bool is_limited_case<exchange_operation<Side, Limits>> =
    Limits::timed || Limits::stoppable;
template <class Limit, class StopToken>
inline constexpr bool is_limited_case<sleep<Limit, StopToken>> = true;

template <class Argument>
inline constexpr bool is_case =
    !is_limited_case<Argument> && requires { typename case_type<Argument>::type; };

/// Whether an argument is a `send_all`, which may have sent some items and then fail.
template <class>
inline constexpr bool is_partial_case = false;
template <class Side, class Limits>
    requires(Side::waiter::side == detail::colour::red && Side::waiter::is_batch)
inline constexpr bool is_partial_case<exchange_operation<Side, Limits>> = true;
template <class Side>
inline constexpr bool is_partial_case<conditional_case<Side>> =
    is_partial_case<exchange_operation<Side, limits<false>>>;

/// The side of an operation.
template <class>
struct side_of {};
template <class Side, class Limits>
struct side_of<exchange_operation<Side, Limits>> {
    using type = Side;
};

/// The cases among the arguments of a selection.
template <class>
struct cases_of;
template <>
struct cases_of<std::tuple<>> {
    using type = void;
};
template <class... Case>
struct cases_of<std::tuple<std::type_identity<Case>...>> {
    using type = case_tuple<Case...>;
};
template <class... Arguments>
using cases_among = typename cases_of<decltype(std::tuple_cat(
    typename case_type<std::remove_cvref_t<Arguments>>::list()...))>::type;

/// The arguments of a selection: cases, then its limits.
/// @tparam Arguments  references, as the caller gave them.
template <class... Arguments>
class selection_arguments {
    template <class Argument>
    static constexpr bool is_lvalue_case =
        is_case<std::remove_cvref_t<Argument>> &&
        !std::is_same_v<Argument, std::remove_cvref_t<Argument>&&>;

public:
    /// The number of the cases.
    static constexpr std::size_t cases =
        (std::size_t{is_case<std::remove_cvref_t<Arguments>>} + ... + 0);
    static constexpr std::size_t limits =
        (std::size_t{is_like_a_limit<std::remove_cvref_t<Arguments>>} + ... + 0);

    /// Fails to compile at the first mistake. @returns whether there is none.
    static constexpr bool check() {
        static_assert(found != mistake::limited,
                      "tryst: the limits belong to the selection, not to one of its cases: "
                      "select(a.receive(), b.receive(), 5ms, stop)");
        static_assert(found != mistake::partial,
                      "tryst: send_all cannot be a case of select, because a case that does not "
                      "take place must have sent nothing; select a send");
        static_assert(found != mistake::lvalue,
                      "tryst: select takes over its cases: select(a.receive(), b.receive()), or "
                      "select(std::move(operation), ...)");
        static_assert(found != mistake::unknown,
                      "tryst: the arguments of select are what exchange, red, blue, send, receive, "
                      "sleep_for, stopped and case_if return, then its limits: "
                      "select(a.receive(), b.receive(), 5ms, stop)");
        static_assert(found != mistake::no_case, "tryst: select needs at least one case");
        static_assert(found != mistake::limit_first,
                      "tryst: the limits of a selection come after its cases: "
                      "select(a.receive(), b.receive(), 5ms, stop)");
        return found == mistake::none;
    }

private:
    enum class mistake : std::uint8_t {
        none,
        limited,
        partial,
        lvalue,
        unknown,
        no_case,
        limit_first
    };

    /// Whether the cases come first.
    static constexpr bool in_order = [] {
        std::size_t i = 0;
        return ((is_case<std::remove_cvref_t<Arguments>> == (i++ < cases)) && ...);
    }();

    static constexpr mistake found =
        (is_limited_case<std::remove_cvref_t<Arguments>> || ...)   ? mistake::limited
        : (is_partial_case<std::remove_cvref_t<Arguments>> || ...) ? mistake::partial
        : (is_lvalue_case<Arguments> || ...)                       ? mistake::lvalue
        : sizeof...(Arguments) != cases + limits                   ? mistake::unknown
        : cases == 0                                               ? mistake::no_case
        : !in_order                                                ? mistake::limit_first
                                                                   : mistake::none;
};

/// Makes selections.
struct selection_factory {
    /// @param arguments  references.
    template <class... Arguments>
    static auto make(bool biased, std::tuple<Arguments...> arguments) noexcept {
        using checked = selection_arguments<Arguments...>;
        if constexpr (checked::check()) {
            return selection_factory::split(biased, arguments,
                                            std::make_index_sequence<checked::cases>(),
                                            std::make_index_sequence<checked::limits>());
        } else {
            return selection_factory::unlimited<cases_among<Arguments...>>();
        }
    }

    template <class Range, class Make, class... Limit>
    static auto make_from(Range&& range, Make& make_case, Limit&... limit) {
        using made = std::invoke_result_t<Make&, std::ranges::range_reference_t<Range>>;
        if constexpr (selection_arguments<made&&>::check()) {
            using cases = case_array<typename case_type<made>::type>;
            return selection_factory::limited<cases>(false, cases(std::tie(range, make_case)),
                                                     limit...);
        } else {
            return selection_factory::unlimited<cases_among<made>>();
        }
    }

    template <class... Arguments>
    static auto try_once(std::tuple<Arguments...> arguments) noexcept {
        using checked = selection_arguments<Arguments...>;
        using cases = cases_among<Arguments...>;
        constexpr bool waits =
            checked::limits != 0 && checked::cases + checked::limits == sizeof...(Arguments);
        static_assert(!waits, "tryst: try_select does not wait, so it takes no limit: "
                              "try_select(a.receive(), b.receive())");
        if constexpr (waits && !std::is_void_v<cases>) {
            return detail::right_type<typename cases::result>();
        } else if constexpr (checked::check()) {
            selection<cases, limits<false>> polled(
                false,
                std::apply([](auto&... each) { return std::tie(detail::proposed_case(each)...); },
                           arguments));
            polled.try_once(outcome::no_partner);
            return polled.take_result();
        }
    }

private:
    /// After a mistake.
    template <class Cases>
    static auto unlimited() {
        if constexpr (!std::is_void_v<Cases>) {
            return detail::right_type<select_operation<Cases, limits<false>>>();
        }
    }

    template <class Cases, class Given, class... Limit>
    static auto limited(bool biased, Given&& cases, Limit&... limit) {
        if constexpr (detail::check_limits<Limit...>()) {
            return detail::with_limits(
                [&](auto&&... given) {
                    return select_operation<Cases, limits_of<Limit...>>(
                        biased, std::forward<Given>(cases),
                        std::forward<decltype(given)>(given)...);
                },
                limit...);
        } else {
            return selection_factory::unlimited<Cases>();
        }
    }

    template <class... Arguments, std::size_t... Case, std::size_t... Limit>
    static auto split(bool biased, std::tuple<Arguments...>& arguments,
                      std::index_sequence<Case...> /*cases*/,
                      std::index_sequence<Limit...> /*limits*/) noexcept {
        using all = std::tuple<std::remove_cvref_t<Arguments>...>;
        using cases = cases_among<Arguments...>;
        constexpr std::size_t n = sizeof...(Case);
        [[maybe_unused]] std::tuple<std::tuple_element_t<n + Limit, all>...> limits(
            std::get<n + Limit>(std::move(arguments))...);
        return selection_factory::limited<cases>(
            biased, std::tie(detail::proposed_case(std::get<Case>(arguments))...),
            std::get<Limit>(limits)...);
    }
};

} // namespace detail

/// A case that takes part only if `enabled`: `select(a.receive(), case_if(open, b.send(x)))`. If it
/// takes no part, its result is that of a case that was not selected, with its own item. If all
/// cases take no part, the selection waits for its limits, or forever.
/// @returns  an argument for `select` and the like. It may be stored, and holds the item.
/// @throws nothing.
template <class Operation>
[[nodiscard]] auto case_if(bool enabled, Operation&& operation) noexcept {
    using side = detail::side_of<Operation>;
    constexpr bool good = requires { typename side::type; } && detail::is_case<Operation>;
    static_assert(good, "tryst: case_if takes what exchange, red, blue, send and receive return, "
                        "without limits: case_if(open, b.receive())");
    if constexpr (good) {
        return detail::conditional_case<typename side::type>{
            detail::operation_access::of(operation).take_proposal(), enabled};
    }
}

/// A case that takes place when a stop is requested: `select(a.receive(), stopped(other))`. The
/// stop token that follows the cases ends the selection instead. A `std::stop_token` or another
/// `stoppable_token`.
/// @returns  an argument for `select` and the like. Its result is an `exchange_result<void, void>`.
/// @throws nothing.
template <stoppable_token StopToken>
[[nodiscard]] auto stopped(StopToken token) noexcept {
    return detail::stop_event<StopToken>{std::move(token)};
}

/// Waits for several exchanges, sends and receives, of which exactly one takes place:
/// `co_await select(requests.receive(), swaps.exchange(mine), 5ms, stop)`.
///
/// The arguments are what `exchange`, `red`, `blue`, `send` and `receive` return, of any exchangers
/// and channels, without limits of their own; and events: what `sleep_for`, `sleep_until` and
/// `stopped` return. At most one time limit and one stop token may follow (see `wait_limit`): they
/// end the selection, and no case has taken place. If several partners are waiting, their cases
/// have equal chances, because each selection polls its cases in a new pseudo-random order. A
/// partner that waits comes before a time that has passed.
///
/// Of several cases on the same side of one exchanger, one waits there, which is chosen likewise.
/// Cases on both sides of one exchanger are an error (an assertion when the selection is made),
/// because the selection could meet itself.
///
/// @returns  an awaitable of `select_result`. Its guarantees are those of `select_operation`. If an
///   exchanger is closed, its case has taken place, with the error `closed`.
template <class... Arguments>
auto select(Arguments&&... arguments) noexcept {
    return detail::selection_factory::make(
        false, std::forward_as_tuple(std::forward<Arguments>(arguments)...));
}

/// As `select`, but prefers earlier arguments: polls the cases in the order written. A partner that
/// arrives after the poll is matched whatever its case.
template <class... Arguments>
auto select_biased(Arguments&&... arguments) noexcept {
    return detail::selection_factory::make(
        true, std::forward_as_tuple(std::forward<Arguments>(arguments)...));
}

/// Completes a case whose partner is waiting, or fails at once with `no_partner`. Never waits, and
/// never offers an item to later arrivals. Does not overlook a partner that waits during the whole
/// call.
/// @returns  the `select_result` itself.
/// @throws nothing.  @progress as `select_operation`.  @sync as for an exchange.
/// @allocation none.
template <class... Cases>
[[nodiscard]] auto try_select(Cases&&... cases) noexcept {
    return detail::selection_factory::try_once(
        std::forward_as_tuple(std::forward<Cases>(cases)...));
}

/// As `select`, for a number of cases that is known only at run time:
/// `co_await select_from(rooms, [](auto& room) { return room.receive(); }, 5ms, stop)`.
///
/// @param range  any forward range that is not empty.
/// @param make   makes the case of an element. All cases have one type.
/// @param limit  as for `select`.
/// @returns  an awaitable of `select_from_result`. Its guarantees are those of `select_operation`.
/// @throws std::bad_alloc; std::invalid_argument if the range is empty; what `make` throws. Then
///   nothing was offered, and items that `make` has taken are destroyed.
/// @allocation two blocks, for the cases and their order. The cost is linear in the number of
///   cases, plus a sort by address if the exchangers are not in that order. A partner takes
///   constant time.
template <std::ranges::forward_range Range, class Make, class... Limit>
    requires std::invocable<Make&, std::ranges::range_reference_t<Range>>
auto select_from(Range&& range, Make make, Limit... limit) {
    if (std::ranges::empty(range)) {
        throw std::invalid_argument("tryst: select_from needs at least one element");
    }
    return detail::selection_factory::make_from(range, make, limit...);
}

/// @}
} // namespace tryst
