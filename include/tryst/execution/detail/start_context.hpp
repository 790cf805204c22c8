// SPDX-License-Identifier: MIT
/// @file
/// Completes an operation on the scheduler that it was started on.
/// std::execution or stdexec.
#pragma once

#include <tryst/execution/detail/std.hpp>
#include <tryst/execution/scheduler.hpp>
#include <tryst/executor.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace tryst::execution::detail {

/// The scheduler on which an operation in this environment is started; void if the environment
/// does not say.
template <class Env>
struct start_scheduler {
    using type = void;
};
template <class Env>
    requires requires(const Env& env) { ex::get_start_scheduler(env); }
struct start_scheduler<Env> {
    using type = std::remove_cvref_t<decltype(ex::get_start_scheduler(std::declval<const Env&>()))>;
};
template <class Env>
using start_scheduler_t = typename start_scheduler<Env>::type;

/// Whether the scheduler names a context that this library does not run. The inline scheduler names
/// none at all.
template <class Scheduler>
inline constexpr bool is_foreign =
    !std::is_void_v<Scheduler> && !std::same_as<Scheduler, ex::inline_scheduler> &&
    !std::same_as<Scheduler, scheduler>;

/// Where the operation state `Derived` with this receiver completes. It has a function `deliver`,
/// which calls the receiver.
///
/// @tparam Scheduler  foreign: the operation has no executor. The party that completes it submits a
///   turn of the scheduler, in which it is delivered.
template <class Derived, class Receiver,
          class Scheduler = start_scheduler_t<ex::env_of_t<Receiver>>>
class start_context {
    /// Delivers where it is called if the scheduler refuses the turn: the result is not lost. Its
    /// environment has no stop token, because a stop must not prevent the turn.
    struct turn {
        using receiver_concept = ex::receiver_tag;
        void set_value() && noexcept { self->deliver(); }
        template <class Error>
        void set_error(Error&& /*error*/) && noexcept {
            self->deliver();
        }
        void set_stopped() && noexcept { self->deliver(); }

        Derived* self;
    };

public:
    /// Whether the constructor does not throw.
    static constexpr bool never_throws =
        noexcept(ex::connect(ex::schedule(std::declval<Scheduler>()), std::declval<turn>()));

protected:
    explicit start_context(const Receiver& receiver) noexcept(never_throws)
        : turn_(ex::connect(ex::schedule(ex::get_start_scheduler(ex::get_env(receiver))),
                            turn{static_cast<Derived*>(this)})) {}

    static executor_ref executor(const Receiver& /*receiver*/) noexcept { return {}; }

    void deliver_there() noexcept { ex::start(turn_); }

private:
    ex::connect_result_t<ex::schedule_result_t<Scheduler>, turn> turn_;
};

/// The operation completes on its executor.
template <class Derived, class Receiver, class Scheduler>
    requires(!is_foreign<Scheduler>)
class start_context<Derived, Receiver, Scheduler> {
public:
    static constexpr bool never_throws = true;

protected:
    explicit start_context(const Receiver& /*receiver*/) noexcept {}

    static executor_ref executor(const Receiver& receiver) noexcept {
        if constexpr (std::same_as<Scheduler, scheduler>) {
            return ex::get_start_scheduler(ex::get_env(receiver)).executor();
        } else {
            const executor_ref here = current_executor();
            return here.is_temporary() ? executor_ref() : here;
        }
    }

    void deliver_there() noexcept { static_cast<Derived*>(this)->deliver(); }
};

/// The attributes of a sender whose operation state has a `start_context`.
struct start_attributes {
    template <class Env>
        requires(!std::is_void_v<start_scheduler_t<Env>>)
    auto query(ex::get_completion_scheduler_t<ex::set_value_t>, const Env& env) const noexcept {
        return ex::get_start_scheduler(env);
    }

#if !defined(__cpp_lib_senders)
    /// With a scheduler, it completes there, or inline in its start.
    template <class Tag, class... Env>
    auto query(exec::get_completion_behavior_t<Tag>, const Env&...) const noexcept {
        if constexpr ((!std::is_void_v<start_scheduler_t<Env>> || ...)) {
            return exec::completion_behavior::asynchronous_affine |
                   exec::completion_behavior::inline_completion;
        } else {
            return exec::completion_behavior::unknown;
        }
    }
#endif
};

} // namespace tryst::execution::detail
