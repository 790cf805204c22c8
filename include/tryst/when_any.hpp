// SPDX-License-Identifier: MIT
/// @file
/// Running several awaitables at once until the first ends, without losing the results of others.
/// Standard library only.
#pragma once

#include <tryst/detail/meet/any_group.hpp>
#include <tryst/detail/meet/stop_state.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/awaitable.hpp>
#include <tryst/detail/run/join.hpp>
#include <tryst/inplace_stop_token.hpp>
#include <tryst/task.hpp>
#include <tryst/wait_limit.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <deque>
#include <functional>
#include <iterator>
#include <ranges>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <version>

#ifdef __cpp_lib_jthread
#include <stop_token>
#endif

namespace tryst {
/// @addtogroup waiting
/// @{

/// The index of a `when_any` that its time limit ended.
inline constexpr std::size_t when_any_npos = static_cast<std::size_t>(-1);

namespace detail {

struct any_factory;

} // namespace detail

/// The outcome of `when_any`: which awaitable ended first, and the result of each.
/// @tparam T  the results of the awaitables, in the order of the arguments.
template <class... T>
class [[nodiscard]] when_any_result {
public:
    /// The index of the awaitable that ended first, from 0; `when_any_npos` if the time limit
    /// passed before.
    std::size_t index() const noexcept { return index_; }

    /// Moves the result of awaitable `I` out. Call it at most once for each.
    /// @throws what the awaitable threw.
    template <std::size_t I>
    auto get() {
        return std::get<I>(work_).take();
    }

private:
    friend struct detail::any_factory;
    explicit when_any_result(std::size_t index, detail::ended_work<T>&&... work) noexcept
        : index_(index), work_(std::move(work)...) {}

    std::size_t index_;
    std::tuple<detail::ended_work<T>...> work_;
};

/// The outcome of `when_any_from`: which awaitable ended first, and the result of each.
/// @tparam T  the result of each awaitable.
template <class T>
class [[nodiscard]] when_any_from_result {
public:
    /// As `when_any_result::index`.
    std::size_t index() const noexcept { return index_; }

    /// The number of awaitables.
    std::size_t size() const noexcept { return work_.size(); }

    /// As `when_any_result::get`, of awaitable `i`.
    T get(std::size_t i) { return work_[i].take(); }

private:
    friend struct detail::any_factory;
    when_any_from_result(std::size_t index, std::vector<detail::ended_work<T>>&& work) noexcept
        : index_(index), work_(std::move(work)) {}

    std::size_t index_;
    std::vector<detail::ended_work<T>> work_;
};

namespace detail {

template <class StopToken, class Make>
concept makes_awaitable =
    std::invocable<Make&, StopToken> && awaitable<std::invoke_result_t<Make&, StopToken>>;

/// The function of one element, for `when_any_from`.
template <class Make, class Iterator>
struct make_of_element {
    Make* make;
    Iterator element;

    template <class StopToken>
        requires std::invocable<Make&, std::iter_reference_t<Iterator>, StopToken>
    decltype(auto) operator()(StopToken stop) const {
        return std::invoke(*make, *element, std::move(stop));
    }
};

/// The source of the stop: in the frame, unless a function needs a `std::stop_token`.
template <class... Make>
struct stop_source_for {
    using type = inplace_stop_source;
};
#ifdef __cpp_lib_jthread
template <class... Make>
    requires(!(makes_awaitable<inplace_stop_token, Make> && ...) &&
             (makes_awaitable<std::stop_token, Make> && ...))
struct stop_source_for<Make...> {
    using type = std::stop_source;
};
#endif

template <class StopSource>
using token_of = decltype(std::declval<StopSource&>().get_token());

/// Fails to compile at the first mistake. @returns whether there is none.
template <class StopToken, class... Make>
constexpr bool check_when_any() {
    constexpr bool good = (makes_awaitable<StopToken, Make> && ...);
    static_assert(sizeof...(Make) != 0, "tryst: when_any needs at least one function");
    static_assert(good,
                  "tryst: the arguments of when_any are functions from a stop token to an "
                  "awaitable, then its limits: "
                  "when_any([&](auto stop) { return ex.exchange(x, stop); }, ..., 5ms, stop)");
    return good && sizeof...(Make) != 0;
}

/// Makes the task of `when_any`, from its functions and its limits.
struct any_factory {
    template <class... Arguments, std::size_t... Function, std::size_t... Limit>
    static auto make(std::tuple<Arguments...> arguments, std::index_sequence<Function...> functions,
                     std::index_sequence<Limit...> /*limits*/) {
        using given = std::tuple<std::decay_t<Arguments>...>;
        using make_all = std::tuple<std::tuple_element_t<Function, given>...>;
        using source = typename stop_source_for<std::tuple_element_t<Function, given>...>::type;
        if constexpr (detail::check_when_any<token_of<source>,
                                             std::tuple_element_t<Function, given>...>()) {
            return any_factory::limited(
                [&](auto outer, auto... time) {
                    return any_factory::run_any<source>(
                        make_all(std::get<Function>(std::move(arguments))...), functions,
                        std::move(outer), time...);
                },
                std::get<sizeof...(Function) + Limit>(std::move(arguments))...);
        } else {
            return detail::right_type<task<when_any_result<>>>();
        }
    }

    template <std::ranges::forward_range Range, class Make, class... Limit>
    static auto make_from(Range range, Make make, Limit... limit) {
        using function = make_of_element<Make, std::ranges::iterator_t<Range>>;
        using source = typename stop_source_for<function>::type;
        constexpr bool good = makes_awaitable<token_of<source>, function>;
        static_assert(good, "tryst: when_any_from takes a range, a function from an element and a "
                            "stop token to an awaitable, then its limits: when_any_from(rooms, "
                            "[](auto& room, auto stop) { return room.receive(stop); }, 5ms, stop)");
        if constexpr (good) {
            return any_factory::limited(
                [&](auto outer, auto... time) {
                    return any_factory::run_from<source>(std::move(range), std::move(make),
                                                         std::move(outer), time...);
                },
                std::move(limit)...);
        } else {
            return detail::right_type<task<when_any_from_result<int>>>();
        }
    }

private:
    template <class StopSource, class OuterToken, class... Limit, class... Make, std::size_t... I>
    static task<when_any_result<awaited<made<Make, token_of<StopSource>>>...>>
    run_any(std::tuple<Make...> make, std::index_sequence<I...> /*all*/, OuterToken outer,
            Limit... limit) {
        using result = when_any_result<awaited<made<Make, token_of<StopSource>>>...>;
        using group_type = any_group<StopSource>;
        group_type group(sizeof...(Make) + sizeof...(Limit));
        std::tuple<any_child<group_type, Make>...> children(
            any_given<group_type, Make>{group, std::get<I>(make), I}...);
        {
            // The time limit begins last: a limit of zero lets the others meet a waiting partner.
            std::array<join_child, sizeof...(Limit)> timer{detail::join_time(group, limit)...};
            const auto start = [&]() noexcept {
                (std::get<I>(children).start(), ...);
                start_each{timer}();
            };
            const typename callback_of<OuterToken, outer_stop<group_type>>::type on_stop(
                std::move(outer), outer_stop<group_type>{group});
            co_await join_all<decltype(start)>{group, start};
        }
        // Relaxed: the arrivals order it.
        const std::size_t index = group.first.load(std::memory_order_relaxed);
        co_return result(index, std::get<I>(children).take()...);
    }

    /// As above, for the elements of a range.
    template <class StopSource, class Range, class Make, class OuterToken, class... Limit,
              class Function = make_of_element<Make, std::ranges::iterator_t<Range>>,
              class T = awaited<made<Function, token_of<StopSource>>>>
    static task<when_any_from_result<T>> run_from(Range range, Make make, OuterToken outer,
                                                  Limit... limit) {
        using group_type = any_group<StopSource>;
        using child = any_child<group_type, Function>;
        const auto size = static_cast<std::size_t>(std::ranges::distance(range));
        group_type group(size + sizeof...(Limit));
        std::vector<Function> functions;
        functions.reserve(size);
        std::deque<child> children; // which cannot be moved
        for (auto at = std::ranges::begin(range); at != std::ranges::end(range); ++at) {
            Function& mine = functions.emplace_back(Function{&make, at});
            children.emplace_back(any_given<group_type, Function>{group, mine, children.size()});
        }
        std::vector<ended_work<T>> work;
        work.reserve(size);
        {
            std::array<join_child, sizeof...(Limit)> timer{detail::join_time(group, limit)...};
            const auto start = [&]() noexcept {
                start_each{children}();
                start_each{timer}();
            };
            const typename callback_of<OuterToken, outer_stop<group_type>>::type on_stop(
                std::move(outer), outer_stop<group_type>{group});
            co_await join_all<decltype(start)>{group, start};
        }
        for (child& each : children) {
            work.push_back(each.take());
        }
        // Relaxed: the arrivals order it.
        const std::size_t index = group.first.load(std::memory_order_relaxed);
        co_return when_any_from_result<T>(index, std::move(work));
    }

    /// Calls `start` with the outer stop token, and then the time limit, if there is one. After a
    /// mistake, there is no limit, so that no other error follows.
    template <class Start, class... Limit>
    static auto limited(Start start, Limit... limit) {
        if constexpr (detail::check_limits<Limit...>()) {
            return detail::with_limits(
                [&](auto... given) { return any_factory::in_order(start, std::move(given)...); },
                limit...);
        } else {
            return start(inplace_stop_token());
        }
    }
    template <class Start, stoppable_token Stop = inplace_stop_token>
    static auto in_order(Start& start, Stop stop = {}) {
        return start(std::move(stop));
    }
    template <class Start, time_limit Time, stoppable_token Stop = inplace_stop_token>
    static auto in_order(Start& start, Time time, Stop stop = {}) {
        return start(std::move(stop), time);
    }
};

} // namespace detail

/// Runs several awaitables concurrently. When the first ends, requests a stop of the others; ends
/// when all have ended. All results are returned, so no item is lost: if a partner came for an
/// exchange although another awaitable ended first, the result of the exchange has the item.
///
///     auto got = co_await when_any([&](auto stop) { return ex.exchange(mine, stop); },
///                                  [&](auto stop) { return job(input, stop); });
///
/// Each argument is a function from a stop token to an awaitable, such as an operation or a task.
/// Each awaitable should end soon after a stop, because `when_any` waits for all of them. The
/// functions are called in turn, when `when_any` is awaited. If one of them ends at once, the later
/// ones are called, too, with a stop that was requested. After the functions, at most one time
/// limit and one stop token may follow (see `wait_limit`). When the time has passed, or a stop is
/// requested, the stop is passed on to all. After your own stop, the index is that of the first to
/// end.
///
/// The token is an `inplace_stop_token`, unless a function accepts only a `std::stop_token`, as a
/// lambda with such a parameter does. With g++ 12, a lambda that captures by value must have a name
/// (docs/compilers.md).
///
/// Use `select` instead if exactly one of several exchanges may take place.
///
/// @returns  a task of a `when_any_result`: the index of the first to end, and each result.
/// @throws   std::bad_alloc. An exception that leaves an awaitable counts as its end, and is thrown
///   by `get` for this awaitable.
/// @resumes  on the executor that it was awaited on, through its queue if an exchange ends last;
///   without an executor, where the last one ends.
/// @cancellation  by the stop token and the time limit. May be destroyed while it waits, as a task.
/// @sync     everything that the awaitables did happens-before the awaiter continues.
/// @allocation  a coroutine frame for `when_any` itself, one for a time limit, and two for each
///   function whose awaitable is not an exchange, a send, a receive or a selection. A
///   `std::stop_token` takes another block. A time limit needs what `sleep_for` needs.
template <class... Arguments>
auto when_any(Arguments&&... arguments) {
    constexpr std::size_t limits = [] { // at the end
        std::size_t count = 0;
        ((count = detail::is_like_a_limit<std::remove_cvref_t<Arguments>> ? count + 1 : 0), ...);
        return count;
    }();
    return detail::any_factory::make(std::forward_as_tuple(std::forward<Arguments>(arguments)...),
                                     std::make_index_sequence<sizeof...(Arguments) - limits>(),
                                     std::make_index_sequence<limits>());
}

/// As `when_any`, for a number of awaitables that is known only at run time:
/// `co_await when_any_from(hosts, [](auto& host, auto stop) { return ask(host, stop); }, 5ms)`.
///
/// @param range  any forward range that is not empty. An lvalue must outlive the task.
/// @param make   a function from an element and a stop token to an awaitable. All have one type.
/// @param limit  as for `when_any`.
/// @returns  a task of a `when_any_from_result`. Its guarantees are those of `when_any`.
/// @throws   std::invalid_argument if the range is empty; and as `when_any`.
/// @allocation  as `when_any`, two vectors and a deque.
template <std::ranges::forward_range Range, class Make, class... Limit>
auto when_any_from(Range&& range, Make make, Limit... limit) {
    if (std::ranges::empty(range)) {
        throw std::invalid_argument("tryst: when_any_from needs at least one element");
    }
    return detail::any_factory::make_from(std::views::all(std::forward<Range>(range)),
                                          std::move(make), std::move(limit)...);
}

/// @}
} // namespace tryst
