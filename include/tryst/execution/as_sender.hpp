// SPDX-License-Identifier: MIT
/// @file
/// Exchanges, channel operations and selections as senders.
/// std::execution or stdexec.
#pragma once

#include <tryst/detail/meet/stop_state.hpp>
#include <tryst/detail/meet/taken_operation.hpp>
#include <tryst/detail/meet/wait_limits.hpp>
#include <tryst/detail/run/turn_budget.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/execution/detail/start_context.hpp>
#include <tryst/execution/detail/std.hpp>
#include <tryst/executor.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace tryst {
namespace execution {
namespace detail {

/// A stop token that requests a stop as soon as one of two does. If both do, it calls the callback
/// twice, perhaps at the same time. An operation permits that, because a stop and a deadline may
/// end a wait at the same time, too.
template <class First, class Second>
struct either_stop_token {
    First first;
    Second second;

    bool stop_requested() const noexcept {
        return first.stop_requested() || second.stop_requested();
    }
    bool stop_possible() const noexcept { return first.stop_possible() || second.stop_possible(); }

    template <class Callback>
    struct callback_type {
        explicit callback_type(either_stop_token&& token, const Callback& callback) noexcept
            : first(std::move(token.first), callback), second(std::move(token.second), callback) {}

        typename tryst::detail::callback_of<First, Callback>::type first;
        typename tryst::detail::callback_of<Second, Callback>::type second;
    };
};

/// The stop token of an operation with its own token and this receiver. `no_token` means none.
template <class Own, class Receiver>
auto combine_tokens(Own&& own, const Receiver& receiver) noexcept {
    using receivers = stops::stop_token_of_t<ex::env_of_t<Receiver>>;
    if constexpr (stops::unstoppable_token<receivers>) {
        return std::forward<Own>(own);
    } else if constexpr (std::same_as<std::remove_cvref_t<Own>, tryst::detail::no_token>) {
        return stops::get_stop_token(ex::get_env(receiver));
    } else {
        return either_stop_token<std::remove_cvref_t<Own>, receivers>{
            std::forward<Own>(own), stops::get_stop_token(ex::get_env(receiver))};
    }
}
template <class Own, class Receiver>
using combined_token =
    decltype(detail::combine_tokens(std::declval<Own>(), std::declval<const Receiver&>()));

/// How a cancelled operation completes.
enum class when_cancelled : unsigned char { set_value, set_stopped };

/* The operation state of an exchange or a selection
 * A client of the core operation (tryst/detail/meet/operation.hpp), which it contains.
 *
 *   start --> deliver                                 a partner was waiting, and the turn has a
 *                                                     budget (turn_budget.hpp)
 *         --> complete --> deliver                    on the operation's executor
 *                      --> turn of the scheduler --> deliver
 *
 * If the core operation is pending, another thread may complete and destroy the state before
 * `start` returns. So nothing of it is touched after the core's `start`. */
template <class Core, when_cancelled Cancelled, class Receiver>
class exchange_state : start_context<exchange_state<Core, Cancelled, Receiver>, Receiver> {
    using context = start_context<exchange_state, Receiver>;
    using turn_budget = tryst::detail::turn_budget;
    friend context;
    using taken = tryst::detail::taken_operation<Core>;
    using token = combined_token<typename taken::token_type, Receiver>;
    using core = typename Core::template with_limits<tryst::detail::limits<
        Core::limits_type::timed,
        std::conditional_t<std::same_as<token, tryst::detail::no_token>, void, token>>>;

public:
    using operation_state_concept = ex::operation_state_tag;
    using context::never_throws;

    exchange_state(Receiver&& receiver, taken&& operation) noexcept(never_throws)
        : context(receiver), receiver_(std::move(receiver)),
          core_(operation.template make<core>(
              detail::combine_tokens(operation.token(), std::as_const(receiver_)))) {}
    exchange_state(exchange_state&&) = delete;

    void start() & noexcept {
        const bool spent = turn_budget::is_spent();
        if (turn_budget::poll([this] { return core_.prepare_start(); }) || !offer()) {
            if (spent) {
                core_.finish();
                context::deliver_there();
            } else {
                deliver();
            }
        }
    }

private:
    /// Not inlined (see `pending::start`).
    [[gnu::noinline]] bool offer() noexcept {
        core_.set_location({});
        return core_.template start<complete>(context::executor(receiver_), this);
    }

    static void complete(executor_node* node) noexcept {
        auto& self = *static_cast<exchange_state*>(core::client_of(node));
        self.core_.finish();
        self.deliver_there();
    }

    void deliver() noexcept {
        if constexpr (Cancelled == when_cancelled::set_stopped) {
            if (core_.was_cancelled()) {
                ex::set_stopped(std::move(receiver_));
                return;
            }
        }
        ex::set_value(std::move(receiver_), core_.take_result());
    }

    Receiver receiver_;
    core core_; // destroyed before the receiver, to which its stop token may refer
};

/// An exchange or a selection that has not begun. Movable; copyable if its items are.
template <class Core, when_cancelled Cancelled = when_cancelled::set_value>
class [[nodiscard]] exchange_sender {
    using taken = tryst::detail::taken_operation<Core>;
    template <class Receiver>
    using state = exchange_state<Core, Cancelled, Receiver>;

public:
    using sender_concept = ex::sender_tag;

    explicit exchange_sender(taken&& operation) noexcept : operation_(std::move(operation)) {}

    template <class, class...>
    static consteval auto get_completion_signatures() noexcept {
        if constexpr (Cancelled == when_cancelled::set_stopped) {
            return ex::completion_signatures<ex::set_value_t(typename Core::result),
                                             ex::set_stopped_t()>();
        } else {
            return ex::completion_signatures<ex::set_value_t(typename Core::result)>();
        }
    }

    template <class Receiver>
    state<Receiver> connect(Receiver receiver) && noexcept(state<Receiver>::never_throws) {
        return {std::move(receiver), std::move(operation_)};
    }
    template <class Receiver>
    state<Receiver>
    connect(Receiver receiver) const& noexcept(state<Receiver>::never_throws &&
                                               std::is_nothrow_copy_constructible_v<taken>)
        requires std::copy_constructible<typename Core::proposal>
    {
        return {std::move(receiver), taken(operation_)};
    }

    start_attributes get_env() const noexcept { return {}; }

    /// The same with `set_stopped` for a cancelled operation.
    auto stopped_if_cancelled() && noexcept {
        return exchange_sender<Core, when_cancelled::set_stopped>(std::move(operation_));
    }

private:
    taken operation_;
};

} // namespace detail

/// The type of `stopped_if_cancelled`.
struct stopped_if_cancelled_t : detail::ex::sender_adaptor_closure<stopped_if_cancelled_t> {
    /// Changes how the sender completes.
    template <class Core>
    auto operator()(detail::exchange_sender<Core> sender) const noexcept {
        return std::move(sender).stopped_if_cancelled();
    }
    /// `stopped_if_cancelled()` is `stopped_if_cancelled`.
    stopped_if_cancelled_t operator()() const noexcept { return *this; }
};

/// `as_sender(operation) | stopped_if_cancelled`: an operation that was cancelled completes with
/// `set_stopped`. **Its item is destroyed**, because `set_stopped` carries nothing.
inline constexpr stopped_if_cancelled_t stopped_if_cancelled{};

} // namespace execution

/// An exchange, a channel operation or a selection as a sender: `as_sender(ex.exchange(item))`. The
/// operation must not have been awaited.
///
/// @returns     a sender that completes with `set_value(result)`, always: the result of `co_await`,
///   `exchange_result` or `select_result`, says whether the operation took place. It can be
///   connected again if the items are copyable.
/// @throws      nothing; `connect` throws what the copies of items throw, and what a foreign
///   scheduler throws.
/// @resumes     on the scheduler that the operation is started on. If a partner is waiting, it
///   completes in `start`, except after 64 such operations on its thread. Otherwise it completes
///   through the queue of the executor if the receiver's environment names an
///   `execution::scheduler`; through a turn of the scheduler if it names another scheduler; and if
///   it names none, on `current_executor()`. Without any, it completes inline in the party that
///   completes it. If the scheduler refuses the turn, the operation completes where it is.
/// @cancellation by the receiver's stop token, and by the operation's own. The operation state may
///   be destroyed while it waits, as the frame of an `exchange_operation` may.
/// @sync        as `exchange_operation`.
/// @allocation  as `exchange_operation`; none of its own.
template <class Operation>
    requires std::derived_from<std::remove_cvref_t<Operation>, detail::exchange_not_in_asio>
auto as_sender(Operation&& operation) noexcept {
    constexpr bool is_given_up = std::same_as<Operation, std::remove_cvref_t<Operation>>;
    static_assert(is_given_up,
                  "tryst: as_sender takes over its operation: as_sender(ex.exchange(item)), or "
                  "as_sender(std::move(operation))");
    if constexpr (is_given_up) {
        using core = std::remove_reference_t<decltype(detail::operation_access::of(operation))>;
        return execution::detail::exchange_sender<core>(
            detail::taken_operation<core>(detail::operation_access::of(operation)));
    }
}

} // namespace tryst
