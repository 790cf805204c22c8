// SPDX-License-Identifier: MIT
/// @file
/// Awaiting senders in coroutines of tryst.
/// std::execution or stdexec.
#pragma once

#include <tryst/detail/run/continuation.hpp>
#include <tryst/detail/run/wrong_coroutine.hpp>
#include <tryst/execution/detail/std.hpp>
#include <tryst/execution/scheduler.hpp>
#include <tryst/executor.hpp>
#include <tryst/task.hpp>

#include <cassert>
#include <concepts>
#include <coroutine>
#include <exception>
#include <memory>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace tryst::execution {

/// Thrown by `co_await as_awaitable(sender)` if the sender completes with `set_stopped`. To get an
/// empty `std::optional` instead, await `stopped_as_optional(sender)`.
class stopped final : public std::exception {
public:
    /// "tryst: the sender was stopped".
    const char* what() const noexcept override { return "tryst: the sender was stopped"; }
};

namespace detail {

/// The environment of a sender that is awaited.
template <class Token>
struct awaiter_env {
    executor_ref executor;
    Token token;

    scheduler query(ex::get_start_scheduler_t) const noexcept { return scheduler(executor); }
    scheduler query(ex::get_scheduler_t) const noexcept { return scheduler(executor); }
    Token query(stops::get_stop_token_t) const noexcept { return token; }
};

/// What `co_await` returns for each set of values: nothing, the value, or a tuple.
template <class... Values>
struct awaited_values {
    using type = std::tuple<std::decay_t<Values>...>;
};
template <class Value>
struct awaited_values<Value> {
    using type = std::decay_t<Value>;
};
template <>
struct awaited_values<> {
    using type = void;
};

template <class... Completions>
struct awaited_sender : awaited_values<> {
    static_assert(sizeof...(Completions) == 0,
                  "tryst: the sender sends values in several ways; await into_variant(sender)");
};
template <class Values>
struct awaited_sender<Values> : Values {};

/// A sender that a coroutine awaits. It is connected when the coroutine suspends.
template <class Sender, class Token>
class [[nodiscard]] sender_awaiter : tryst::detail::awaited_work,
                                     public tryst::detail::not_in_asio {
    using env = awaiter_env<Token>;
    using value = typename ex::value_types_of_t<Sender, env, awaited_values, awaited_sender>::type;
    using stored = std::conditional_t<std::is_void_v<value>, std::monostate, value>;

public:
    sender_awaiter(Sender&& sender,
                   Token&& token) noexcept(std::is_nothrow_move_constructible_v<Sender>)
        : sender_(std::move(sender)), token_(std::move(token)) {}
    sender_awaiter(sender_awaiter&&) = delete;
    ~sender_awaiter() {
        if (is_connected_) {
            std::destroy_at(&state);
        }
    }

    bool await_ready() const noexcept { return false; }

    /// Connects and starts the sender. Not inlined (see `handshake::suspend`).
    template <class Promise>
    [[gnu::noinline]] bool
    await_suspend(std::coroutine_handle<Promise> coroutine,
                  tryst::detail::location where = tryst::detail::location::current()) noexcept {
        awaiter_.set(coroutine, where);
        assert(awaiter_.executor() &&
               "tryst: a coroutine that awaits a sender needs an executor, such as a run_loop");
        try {
            ::new (static_cast<void*>(std::addressof(state)))
                state_type(ex::connect(std::move(sender_), receiver{this}));
        } catch (...) {
            result_.template emplace<2>(std::current_exception());
            return false;
        }
        is_connected_ = true;
        return this->start_for(awaiter_, [this]() noexcept { ex::start(state); });
    }

    value await_resume() {
        if (result_.index() == 0) {
            throw stopped();
        }
        if (result_.index() == 2) {
            std::rethrow_exception(std::get<2>(result_));
        }
        if constexpr (!std::is_void_v<value>) {
            return std::get<1>(std::move(result_));
        }
    }

private:
    struct receiver {
        using receiver_concept = ex::receiver_tag;

        template <class... Values>
        void set_value(Values&&... values) && noexcept {
            try {
                self->result_.template emplace<1>(std::forward<Values>(values)...);
            } catch (...) {
                self->result_.template emplace<2>(std::current_exception());
            }
            self->resume();
        }
        template <class Error>
        void set_error(Error&& error) && noexcept {
            using type = std::decay_t<Error>;
            if constexpr (std::same_as<type, std::exception_ptr>) {
                self->result_.template emplace<2>(std::forward<Error>(error));
            } else if constexpr (std::same_as<type, std::error_code>) {
                self->result_.template emplace<2>(
                    std::make_exception_ptr(std::system_error(error)));
            } else {
                self->result_.template emplace<2>(
                    std::make_exception_ptr(std::forward<Error>(error)));
            }
            self->resume();
        }
        void set_stopped() && noexcept { self->resume(); }
        env get_env() const noexcept { return {self->awaiter_.executor(), self->token_}; }

        sender_awaiter* self;
    };
    using state_type = ex::connect_result_t<Sender, receiver>;

    void resume() noexcept {
        const bool is_task = awaiter_.is_task();
        tryst::detail::running_task::resume(this->complete(), is_task);
    }

    Sender sender_;
    Token token_;
    tryst::detail::continuation awaiter_;
    std::variant<std::monostate, stored, std::exception_ptr> result_; ///< The first if stopped.
    bool is_connected_ = false;
    union {
        state_type state;
    };
};

} // namespace detail

/// `co_await as_awaitable(sender)`: awaits a sender in a `tryst::task`, or in another coroutine
/// that runs on an executor. The sender's environment has the executor as its scheduler, and
/// `token`.
///
/// @returns     what the sender sends: nothing, its value, or a tuple of its values.
/// @throws      the sender's error: an exception as it is, a `std::error_code` as a
///   `std::system_error`, anything else as itself; `stopped` if the sender was stopped; what its
///   connection throws.
/// @resumes     on the executor that it was awaited on. A sender that completes in its start does
///   not suspend the coroutine.
/// @cancellation by `token`. The coroutine may be destroyed while it waits only if the sender's
///   operation state may be.
/// @allocation  none but the sender's.
template <class Sender, class Token = detail::stops::never_stop_token>
    requires detail::ex::sender<Sender>
auto as_awaitable(Sender&& sender, Token token = {}) {
    return detail::sender_awaiter<std::remove_cvref_t<Sender>, Token>(
        std::remove_cvref_t<Sender>(std::forward<Sender>(sender)), std::move(token));
}

} // namespace tryst::execution
