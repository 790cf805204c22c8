// SPDX-License-Identifier: MIT
/// @file
/// What can end a wait besides a partner and a close: a stop and a deadline.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/meet/stop_state.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/time.hpp>
#include <tryst/detail/run/timer_thread.hpp>
#include <tryst/executor.hpp>
#include <tryst/wait_limit.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace tryst::detail {

/// The limits of a wait: a deadline if `Timed`, and a stop unless `StopToken` is void.
template <bool Timed, class StopToken = void>
struct limits {
    using token = StopToken;
    static constexpr bool timed = Timed;
    static constexpr bool stoppable = !std::is_void_v<StopToken>;
};

template <class... Limit>
struct stop_token_among {
    using type = void;
};
template <class First, class... Rest>
struct stop_token_among<First, Rest...> : stop_token_among<Rest...> {};
template <stoppable_token First, class... Rest>
struct stop_token_among<First, Rest...> {
    using type = First;
};

/// The limits of an operation to which these arguments were given.
template <class... Limit>
using limits_of = limits<(time_limit<Limit> || ...), typename stop_token_among<Limit...>::type>;

struct no_deadline {};

/// The deadline or the duration that an operation was given, if it is timed.
template <bool Timed>
struct given_time {};
template <>
struct given_time<true> {
    clock::time_point deadline;
    bool is_relative; ///< Whether `deadline` is a duration that has not begun.
};

/// The stop token and the deadline of an operation, and later its stop callback and timer.
///
/// @tparam Derived  the operation. It has `wait_stage()`, `wait_executor()`, `needs_timers`, and
///   `cancel(by_deadline)`, which a stop or the deadline calls.
template <class Derived, class Limits>
class wait_limits : private std::conditional_t<Limits::timed, timer_node, no_deadline> {
public:
    // NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): there is no other derived class.
    wait_limits(const wait_limits&) = delete;
    wait_limits& operator=(const wait_limits&) = delete;

    static constexpr bool is_timed = Limits::timed;

    /// The limits of an operation that has not begun, to make another one with. The token is moved
    /// out.
    given_time<Limits::timed> time_given() const noexcept {
        if constexpr (Limits::timed) {
            return {this->deadline, is_relative()};
        } else {
            return {};
        }
    }
    auto&& take_token() noexcept
        requires(Limits::stoppable)
    {
        return std::move(stop_.token);
    }

    /// The deadline on the steady clock. Precondition: `is_timed`.
    clock::time_point time_limit() noexcept {
        begin_duration([] { return clock::now(); });
        return this->deadline;
    }

protected:
    template <class... Stop>
    explicit wait_limits(Stop&&... stop) noexcept : stop_{std::forward<Stop>(stop)...} {}
    template <class... Stop>
    explicit wait_limits(clock::time_point limit, Stop&&... stop) noexcept
        : wait_limits(std::forward<Stop>(stop)...) {
        this->deadline = limit;
        this->fire = pass_deadline;
    }
    template <class... Stop>
    explicit wait_limits(clock::duration patience, Stop&&... stop) noexcept
        : wait_limits(clock::time_point(patience), std::forward<Stop>(stop)...) {
        this->fire = nullptr; // the deadline is a duration that has not begun
    }
    template <class... Stop>
    explicit wait_limits(given_time<Limits::timed> time, Stop&&... stop) noexcept
        : wait_limits(std::forward<Stop>(stop)...) {
        if constexpr (Limits::timed) {
            this->deadline = time.deadline;
            this->fire = time.is_relative ? nullptr : pass_deadline;
        }
    }
    ~wait_limits() = default;

    Derived& derived() noexcept { return static_cast<Derived&>(*this); }

    /// Whether a stop has been requested. Precondition: the limits are not in force yet.
    bool stop_was_requested() const noexcept {
        if constexpr (Limits::stoppable) {
            return stop_.token.stop_requested();
        }
        return false;
    }

    /// Whether there is a deadline or a stop. Precondition as above.
    bool can_be_limited() const noexcept {
        if constexpr (Limits::stoppable) {
            return Limits::timed || stop_.token.stop_possible();
        }
        return Limits::timed;
    }

    /// Whether the deadline has passed before the start.
    bool has_no_time([[maybe_unused]] executor_ref timers) noexcept {
        if constexpr (Limits::timed) {
            const auto now = [&] { return timers.has_timers() ? timers.now() : clock::now(); };
            return this->deadline <= (is_relative() ? clock::time_point() : now());
        }
        return false;
    }

    /// Whether the deadline is a time that has passed, and no stop was requested. Precondition as
    /// above.
    bool is_overdue([[maybe_unused]] executor_ref timers) noexcept {
        if constexpr (Limits::timed) {
            return !is_relative() && has_no_time(timers) && !stop_was_requested();
        }
        return false;
    }

    /// Whether the deadline can be put into force, which may need the timer thread. Call before the
    /// offer. (The turn after which the deadline comes into force is one of the executor's. An
    /// executor of one operation says by `has_timers` whether it could make them.)
    static bool can_be_timed([[maybe_unused]] executor_ref on) noexcept {
        if constexpr (Derived::needs_timers) {
            return (on.keeps_timers() && !on.is_temporary()) || on.has_timers() ||
                   timer_thread::instance().prepare();
        }
        return true;
    }

    /// Puts the stop and the deadline into force.
    void start_limits() noexcept {
        stage& at = derived().wait_stage();
        const bool cancelled = at == stage::offered_cancelled;
        at = !Limits::timed                           ? stage::stoppable
             : derived().wait_executor().has_timers() ? stage::timed_by_executor
                                                      : stage::timed_by_thread;
        if constexpr (Limits::timed) {
            begin_duration([this] { return timers().now(); });
            derived().show_deadline(this->deadline);
            timers().arm(this);
        }
        register_stop();
        if (cancelled) {
            derived().cancel(false);
        }
    }

    /// Puts the stop into force, for a client that serves the deadline itself.
    void start_stop() noexcept {
        derived().wait_stage() = stage::stoppable;
        if constexpr (Limits::timed) {
            derived().show_deadline(time_limit());
        }
        register_stop();
    }

    /// For an observer of the wait; called before the deadline takes effect. A wait that shows it
    /// hides this function.
    static void show_deadline(clock::time_point /*when*/) noexcept {}

    /// Ends the use of the stop and the timer. Precondition: not called before.
    void end_limits() noexcept {
        stage& at = derived().wait_stage();
        if constexpr (Limits::stoppable) {
            if (is_limited(at)) {
                std::destroy_at(&stop_.callback);
            } else {
                std::destroy_at(&stop_.token);
            }
        }
        if constexpr (Limits::timed) {
            if (at == stage::timed_by_executor || at == stage::timed_by_thread) {
                timers().disarm(this);
            }
        }
        at = stage::finished;
    }

private:
    struct stop_request {
        wait_limits* self;
        void operator()() const noexcept { self->derived().cancel(false); }
    };

    /// The function of the timer.
    static void pass_deadline(timer_node* node) noexcept {
        static_cast<wait_limits&>(*node).derived().cancel(true);
    }

    /// Whether the deadline is still a duration.
    bool is_relative() const noexcept { return this->fire == nullptr; }

    /// Turns a duration into a deadline.
    template <class Now>
    void begin_duration(Now now) noexcept {
        if (is_relative()) {
            this->fire = pass_deadline;
            this->deadline = detail::after(now(), this->deadline.time_since_epoch());
        }
    }

    void register_stop() noexcept {
        if constexpr (Limits::stoppable) {
            auto token = std::move(stop_.token);
            std::destroy_at(&stop_.token);
            std::construct_at(&stop_.callback, std::move(token), stop_request{this});
        }
    }

    /// The executor that the timer is armed with. Precondition: the stage is `timed_by_executor` or
    /// `timed_by_thread`.
    executor_ref timers() noexcept {
        return derived().wait_stage() == stage::timed_by_executor ? derived().wait_executor()
                                                                  : timer_thread_executor();
    }

    /// The token until the limits come into force, then the callback.
    [[no_unique_address]] stop_state<typename Limits::token, stop_request> stop_;
};

} // namespace tryst::detail
