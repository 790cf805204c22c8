// SPDX-License-Identifier: MIT
/// @file
/// A selection whose cases stay registered from one wait to the next.
/// Standard library only.
#pragma once

#include <tryst/case_set_result.hpp>
#include <tryst/detail/meet/awaitable_operation.hpp>
#include <tryst/detail/meet/case_set_round.hpp>
#include <tryst/detail/meet/standing_cases.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/select.hpp>
#include <tryst/wait_limit.hpp>

#include <cassert>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

namespace tryst {
/// @addtogroup meeting
/// @{

/// The type that `receive()` of a channel returns, for the type of a `case_set`:
/// `case_set<int, receive_case<channel<job>>>`.
template <class Channel>
using receive_case = decltype(std::declval<Channel&>().receive());
/// Likewise, `send(x)`.
template <class Channel>
using send_case =
    decltype(std::declval<Channel&>().send(std::declval<typename Channel::value_type>()));
/// Likewise, `exchange(x)` of an `exchanger`.
template <class Exchanger>
using exchange_case =
    decltype(std::declval<Exchanger&>().exchange(std::declval<typename Exchanger::value_type>()));

namespace detail {

/// The side of an operation that may be a case of a set; void for another type.
template <class Operation>
struct standing_side {
    using type = void;
};
template <class Side>
    requires(!requires { Side::waiter::is_batch; } || !Side::waiter::is_batch) &&
            Side::protocol::keeps_cases
struct standing_side<exchange_operation<Side, limits<false>>> {
    using type = Side;
};

} // namespace detail

/// One call to `case_set::next`, lazily started. Its guarantees are those of `exchange_operation`,
/// with these differences:
///
/// @returns     `case_set_result`.
/// @progress    as `select_operation`.
/// @cancellation total. If the coroutine is destroyed after a case took place and before it
///   resumes, the following call returns the result.
/// @allocation  none, except as the exchangers of the cases do.
template <class Cases, class Limits>
class [[nodiscard]] next_operation
    : public detail::awaitable_operation<detail::case_set_round<Cases, Limits>> {
    using base = detail::awaitable_operation<detail::case_set_round<Cases, Limits>>;
    template <class, class...>
    friend class case_set;

    template <class... Arguments>
    explicit next_operation(Arguments&&... arguments) noexcept
        : base(std::forward<Arguments>(arguments)...) {}
};

/// A set of exchanges, sends and receives, which are its cases. Each call to `next` waits until one
/// of them takes place. Unlike those of `select`, the cases stay in the wait lists of their
/// exchangers, so a call costs the same with 10 cases and with 10,000 (except those that send to a
/// `weighted` channel: docs/case-sets.md).
///
/// A case takes part only while the owner waits in `next`. Between two calls it takes nothing and
/// blocks no party: a partner that comes proceeds as if the case were not there; if it waits, the
/// next call meets it. In a `fifo` list, a case keeps its place from one call to the next, unless
/// such a partner has found it; a sender at a `weighted` channel does not keep it.
///
/// A case that brings nothing, such as `receive`, takes part again after it took place. One that
/// brings an item is idle until `rearm` gives it another. If an exchanger is closed or destroyed,
/// its case takes place with the error `closed`, and leaves the set. So the exchanger may be
/// destroyed before the set. If a channel is closed and `reset` between two calls, the set does not
/// notice.
///
/// One coroutine, fiber or thread, the owner, uses the set at a time. During a call to `next`, the
/// other members must not be used (an assertion).
///
/// @tparam Token       identifies a case to the caller: a pointer or an index, for example. Copying
///   it must not throw.
/// @tparam Operations  the types of the cases: what the members of exchangers and channels return
///   without limits, which `receive_case`, `send_case` and `exchange_case` name.
template <class Token, class... Operations>
class case_set {
    static_assert(sizeof...(Operations) != 0 && sizeof...(Operations) <= 255,
                  "tryst: a case_set names the types of its cases: "
                  "case_set<int, receive_case<channel<job>>>");
    static_assert(std::is_nothrow_copy_constructible_v<Token>,
                  "tryst: a token of a case_set must have a copy constructor that does not throw; "
                  "use a pointer or an index");

    template <class Operation>
    using side_of = typename detail::standing_side<std::remove_cvref_t<Operation>>::type;
    static constexpr bool are_cases = (!std::is_void_v<side_of<Operations>> && ...);
    static_assert(are_cases,
                  "tryst: the cases of a case_set are what exchange, red, blue, send and receive "
                  "return, without limits: case_set<int, receive_case<channel<job>>>");
    // If an assertion failed: no cases, so that no other error follows.
    using cases =
        std::conditional_t<are_cases, detail::standing_cases<Token, side_of<Operations>...>,
                           detail::standing_cases<Token>>;

public:
    /// What `next` returns.
    using result_type = typename cases::result;
    /// What `add` returns for an operation.
    template <class Operation>
    using handle = case_handle<typename side_of<Operation>::result>;

    case_set() = default;
    case_set(const case_set&) = delete;
    case_set& operator=(const case_set&) = delete;
    /// Destroys the cases with their items. Precondition: no call to `next` is in progress.
    ~case_set() = default;

    /// The number of cases.
    std::size_t size() const noexcept { return cases_.size(); }
    /// Whether there are none.
    bool empty() const noexcept { return size() == 0; }

    /// Adds a case, which takes part from the next call to `next`.
    /// @param operation  what a member of an exchanger or channel returned: `a.receive()`.
    /// @throws std::bad_alloc. Then nothing was added, and `operation` still has its item.
    template <class Operation>
    handle<Operation> add(Operation&& operation, Token token) {
        static_assert((std::is_same_v<Operation, Operations> || ...),
                      "tryst: add takes an operation of one of the set's types, not an lvalue: "
                      "set.add(a.receive(), token)");
        auto& made = detail::operation_access::of(operation);
        return handle<Operation>(cases_.template add<side_of<Operation>>(
            made.where(), made.take_item(), std::move(token)));
    }

    /// Takes a case out of the set. May spin until a partner that has found the case hands it back.
    /// @returns  the error `not_selected`, with the item of the case in `returned()`; or the result
    ///   that a destroyed call to `next` has left; `std::nullopt` if the case is idle.
    template <class Result>
    std::optional<Result> remove(case_handle<Result> which) noexcept {
        return cases_.template remove<Result>(node_of(which));
    }

    /// Gives an idle case its next item.
    template <class Theirs, class Own>
    void rearm(case_handle<exchange_result<Theirs, Own>> which,
               std::type_identity_t<Own> item) noexcept {
        cases_.template rearm<exchange_result<Theirs, Own>>(node_of(which), item);
    }

    /// Waits until a case takes place. If partners wait for several cases, the oldest of these
    /// takes place: the one that was first added, rearmed or taken out of its wait list.
    /// @param limit  at most one time limit and one stop token, which end the wait early: see
    ///   `wait_limit`.
    /// @returns  an awaitable of `case_set_result`. It fails at once with `no_partner` if the set
    ///   is empty, or if all its cases are idle.
    template <class... Limit>
    [[nodiscard]] auto next(Limit... limit) noexcept {
        if constexpr (detail::check_limits<Limit...>()) {
            return detail::with_limits(
                [&](auto&&... given) {
                    return next_operation<cases, detail::limits_of<Limit...>>(
                        &cases_, std::forward<decltype(given)>(given)...);
                },
                limit...);
        } else {
            return next_operation<cases, detail::limits<false>>(&cases_);
        }
    }

    /// As `next`, but fails at once with `no_partner` if no partner waits.
    result_type try_next() noexcept {
        detail::case_set_round<cases, detail::limits<false>> polled(&cases_);
        polled.try_now();
        return polled.take_result();
    }
    /// @cond
    template <class... Limit>
    auto try_next(Limit...) {
        return detail::refuse_limits<result_type, Limit...>();
    }
    /// @endcond

private:
    template <class Result>
    static detail::case_node& node_of(case_handle<Result> which) noexcept {
        assert(which.node_ != nullptr && "tryst: the handle refers to no case");
        return *which.node_;
    }

    cases cases_;
};

/// @}
} // namespace tryst
