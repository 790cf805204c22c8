// SPDX-License-Identifier: MIT
/// @file
/// Events as cases of a selection: a time that comes, or a stop that is requested.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/meet/commitment.hpp>
#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/detail/meet/stop_state.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/time.hpp>
#include <tryst/detail/run/timer_thread.hpp>
#include <tryst/executor.hpp>
#include <tryst/result.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace tryst::detail {

/* An event as a case
 * Its timer or its stop callback is a completer, which commits to the case (I41). It comes into
 * force with the limits of the selection, when this is open: a stop may call back at once.
 *
 * I61. Only the owner ends an event's timer or callback, on its executor, after the decision. So an
 *     event that comes late finds the word of the selection, and that it has been decided.
 *
 * @tparam Derived  has `has_come()`, `start()` and `end()`. */
template <class Derived>
class event_case : public waiter {
public:
    using result_type = exchange_result<void, void>;
    static constexpr colour side = colour::none;
    static constexpr bool is_event = true;
    static constexpr bool is_shared = false; ///< It leaves no list.

    const void* where() const noexcept { return this; }
    static bool is_closed() noexcept { return false; }

    bool enlist() noexcept {
        if (!derived().has_come()) {
            return false;
        }
        result = outcome::exchanged;
        static_cast<commitment*>(owner)->decide(*this);
        return true;
    }
    void end_wait(outcome /*lost*/) noexcept {}

    result_type take_result(outcome lost) noexcept {
        return result == outcome::exchanged
                   ? result_type(nothing())
                   : result_type(static_cast<exchange_errc>(lost), nothing());
    }

protected:
    event_case() noexcept { kind = kind_type::selecting; }
    ~event_case() = default;

    /// Called by the timer or the callback. Leaves no list, because a channel with
    /// `single_threaded` is for its owner's thread.
    void come() noexcept {
        commitment& its = commitment::of(*this);
        const auto committed = its.commit(*this);
        if (committed != commitment::commit_result::stale &&
            its.complete(*this, outcome::exchanged, committed)) {
            detail::post(*this);
        }
    }

private:
    Derived& derived() noexcept { return static_cast<Derived&>(*this); }
};

/// What `sleep_for` and `sleep_until` return, as a case. Comes after the partners that wait.
/// @tparam Limit  a duration or a time point of `clock`.
template <class Limit>
class time_case : public event_case<time_case<Limit>>, timer_node {
public:
    /// @param given  a `sleep`.
    template <class Sleep>
        requires requires(Sleep& given) { given.limit(); }
    explicit time_case(Sleep&& given) noexcept : limit_(given.limit()) {}
    time_case(const time_case& other) noexcept : limit_(other.limit_) {}
    time_case& operator=(const time_case&) = delete;
    ~time_case() = default;

    // Partners come first (`selection::takes_event`).
    static bool try_match() noexcept { return false; }
    static bool try_match_all() noexcept { return false; }

    bool has_come() const noexcept {
        if constexpr (is_relative) {
            return limit_ <= Limit::zero();
        } else {
            const executor_ref on = this->executor;
            return limit_ <= (on.has_timers() ? on.now() : clock::now());
        }
    }

    void start() noexcept {
        const bool by_executor = this->executor.has_timers();
        this->at = by_executor ? stage::timed_by_executor : stage::timed_by_thread;
        if constexpr (is_relative) {
            this->deadline = detail::after(timers().now(), limit_);
        } else {
            this->deadline = limit_;
        }
        this->fire = [](timer_node* node) noexcept { static_cast<time_case&>(*node).come(); };
        timers().arm(this);
    }

    void end() noexcept {
        if (this->at != stage::created) {
            timers().disarm(this);
            this->at = stage::created;
        }
    }

private:
    static constexpr bool is_relative = std::is_same_v<Limit, clock::duration>;

    executor_ref timers() const noexcept {
        return this->at == stage::timed_by_executor ? this->executor : timer_thread_executor();
    }

    Limit limit_;
};

/// What `stopped` returns.
template <class StopToken>
struct [[nodiscard]] stop_event {
    StopToken token;
};

/// The same as a case.
template <class StopToken>
class stop_case : public event_case<stop_case<StopToken>> {
public:
    explicit stop_case(stop_event<StopToken>&& given) noexcept : token_(std::move(given.token)) {}
    stop_case(const stop_case& other) noexcept : token_(other.token_) {}
    stop_case& operator=(const stop_case&) = delete;
    ~stop_case() {}

    bool try_match() noexcept { return this->enlist(); }
    bool try_match_all() noexcept { return this->enlist(); }

    bool has_come() const noexcept { return token_.stop_requested(); }

    void start() noexcept {
        this->at = stage::stoppable;
        std::construct_at(&callback, token_, stop_request{this});
    }

    void end() noexcept {
        if (this->at != stage::created) {
            std::destroy_at(&callback);
            this->at = stage::created;
        }
    }

private:
    struct stop_request {
        stop_case* self;
        void operator()() const noexcept { self->come(); }
    };

    StopToken token_;
    union {
        typename callback_of<StopToken, stop_request>::type callback;
    };
};

template <class>
inline constexpr bool is_time_case = false;
template <class Limit>
inline constexpr bool is_time_case<time_case<Limit>> = true;

} // namespace tryst::detail
