// SPDX-License-Identifier: MIT
/// @file
/// One exchange in progress: what the members of exchangers and channels return, to be awaited once.
/// Standard library only. Allocates nothing itself.
#pragma once

#include <tryst/detail/meet/protocol.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/time.hpp>
#include <tryst/detail/run/thread_wait_strategy.hpp>
#include <tryst/detail/run/timer_thread.hpp>
#include <tryst/executor.hpp>
#include <tryst/result.hpp>

#include <cassert>
#include <chrono>
#include <concepts>
#include <coroutine>
#include <memory>
#include <type_traits>
#include <utility>

namespace tryst {
/// @addtogroup meeting
/// @{

namespace detail {

/// One side of a kind of meeting: what it brings and gets, void if nothing, and where it waits.
template <class WaitList, class Own, class Theirs = Own, colour Colour = colour::none>
struct side {
    using own = object_t<Own>;
    using theirs = object_t<Theirs>;
    using protocol = detail::protocol<WaitList>;
    using waiter = item_waiter<own, theirs, Colour>;
    using result = exchange_result<Theirs, Own>;

    /// The result of a wait that is over, by moving its item out.
    static result result_of(waiter& w) noexcept {
        if (w.result == outcome::exchanged) {
            return result(std::move(w.theirs()));
        }
        return result(static_cast<exchange_errc>(w.result), std::move(w.own()));
    }
};

/// What can end a wait besides a partner and a close: a deadline, a token of that type unless it is void.
template <bool Timed, class StopToken = void>
struct limits {
    using token = StopToken;
    static constexpr bool timed = Timed;
    static constexpr bool stoppable = !std::is_void_v<StopToken>;
};
struct no_deadline {};

/// The callback type of a stop token; none if the type is not a stop token.
template <class StopToken, class Callback>
struct callback_of {};
template <class StopToken, class Callback>
    requires requires { typename StopToken::template callback_type<Callback>; }
struct callback_of<StopToken, Callback> {
    using type = typename StopToken::template callback_type<Callback>;
};
template <class Callback>
struct callback_of<stop_token, Callback> {
    using type = stop_callback<Callback>;
};

/// What an operation does with its stop token: keeps it, until it registers a callback in its place.
template <class StopToken, class Callback>
struct stop_state {
    explicit stop_state(StopToken&& given) noexcept : token(std::move(given)) {}
    stop_state(const stop_state&) = delete;
    stop_state& operator=(const stop_state&) = delete;
    ~stop_state() {}

    union {
        StopToken token;
        typename callback_of<StopToken, Callback>::type callback;
    };
};
template <class Callback>
struct stop_state<void, Callback> {};

template <class Side>
struct start;

/// How an adapter waits with a strategy of its own (detail/run/thread_wait_strategy.hpp).
struct operation_access {
    template <class Operation, class WaitStrategy>
    static auto wait(Operation& operation, WaitStrategy& strategy) noexcept
        -> decltype(operation.wait_with(strategy)) {
        return operation.wait_with(strategy);
    }
};

} // namespace detail

/// `std::stop_token`, or what works like it and has its `callback_type`: the tokens of an in-place stop
/// source, as in P2300. A callback is registered on the executor that awaits, and runs where the stop is
/// requested; registering and removing it must not throw.
template <class StopToken>
concept stoppable_token =
    std::is_nothrow_move_constructible_v<StopToken> && requires(const StopToken& token) {
        { token.stop_requested() } noexcept -> std::convertible_to<bool>;
        { token.stop_possible() } noexcept -> std::convertible_to<bool>;
        typename detail::callback_of<StopToken, void (*)()>::type;
    };

/// One exchange, lazily started: nothing happens until it is awaited by `co_await`, or by a plain
/// thread with `sync_wait`. Await it at most once.
///
/// @returns     `exchange_result`: the partner's item, or an error and the own item back.
/// @throws      nothing.
/// @progress    lock-free until suspension.
/// @resumes     on the executor it was awaited on (`executor_of`); without one, inline in whoever
///              completes it. A match found at once does not suspend.
/// @cancellation total: a failure means that nothing was exchanged; a match wins over a later stop or
///              deadline. The coroutine may be destroyed while it waits, on its executor: the offer is
///              withdrawn. (A coroutine without executor only while no partner can come, and none while
///              its exchanger is being destroyed elsewhere.)
/// @sync        everything before the partner's exchange happens-before our return, and vice versa; so
///              does everything before the stop or the close that ended a wait.
/// @allocation  none, but for what an exchanger of two colours says.
///
/// @tparam Side    what is brought and got, and where.
/// @tparam Limits  what can end the wait besides a partner and a close.
template <class Side, class Limits>
class [[nodiscard]] exchange_operation
    : private Side::waiter,
      private std::conditional_t<Limits::timed, timer_node, detail::no_deadline> {
public:
    exchange_operation(const exchange_operation&) = delete;
    exchange_operation& operator=(const exchange_operation&) = delete;

    ~exchange_operation() {
        if (stage_ == stage::created) {
            finish();
        } else {
            abandon();
        }
    }

    /// For `co_await`: takes a partner that is waiting, if there is one.
    bool await_ready() noexcept {
        assert(stage_ == stage::created && "tryst: an exchange can be awaited only once");
        if constexpr (Limits::stoppable) {
            if (stop_.token.stop_requested()) {
                this->result = detail::outcome::cancelled;
                return true;
            }
        }
        return protocol_->meet(mine());
    }

    /// For `co_await`: makes the offer.
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        coroutine_ = coroutine;
        this->executor = executor_of(coroutine);
        return suspend();
    }

    /// For `co_await`: the result. Precondition: not suspended any more.
    typename Side::result await_resume() noexcept {
        finish();
        return Side::result_of(mine());
    }

    /// Cuts the ties to stop, deadline and executor once the wait is over: what `await_resume` begins with, for
    /// who takes the result later than that.
    void finish() noexcept {
        if (stage_ == stage::finished) {
            return;
        }
        if constexpr (Limits::stoppable) {
            if (stage_ == stage::limited) {
                std::destroy_at(&stop_.callback);
            } else {
                std::destroy_at(&stop_.token);
            }
        }
        if constexpr (Limits::timed) {
            if (timers_ != timers::none) {
                timer_executor().disarm(this);
            }
        }
        stage_ = stage::finished;
    }

    /// Takes the offer back, for a coroutine that will not be resumed from this wait: what the destructor
    /// does, sooner. On its executor. No effect unless it waits.
    void abandon() noexcept {
        if (stage_ != stage::offered && stage_ != stage::limited) {
            return;
        }
        finish();
        const executor_ref home = this->executor;
        const bool queued = home && home.retract(this);
        if (protocol_->abandon(mine(), queued)) {
            return;
        }
        assert(home && "tryst: a coroutine without executor was destroyed while being resumed");
        detail::yield_until([&] { return home.retract(this); });
    }

    /// Waits as a plain thread: spins for a moment, then sleeps. What `sync_wait` calls.
    typename Side::result wait() noexcept {
        detail::thread_wait_strategy strategy;
        return wait_with(strategy);
    }

private:
    friend struct detail::start<Side>;
    friend struct detail::operation_access;
    using own = typename Side::own;
    using protocol = typename Side::protocol;
    using arrival = detail::arrival;
    using clock = detail::clock;

    typename Side::waiter& mine() noexcept { return *this; }

    enum class stage : std::uint8_t {
        created, // not offered yet
        offered, // only a partner or a close can end the wait, for ever or for now
        limited, // the stop callback is registered and the timer armed
        finished, // nobody refers to us
    };

    struct stop_request {
        exchange_operation* operation;
        void operator()() const noexcept {
            operation->protocol_->cancel(operation->mine(), detail::signal::stop);
        }
    };
    template <class... Stop>
    explicit exchange_operation(protocol& with, own&& item, Stop&&... stop) noexcept
        : Side::waiter(std::move(item)), protocol_(&with), stop_{std::forward<Stop>(stop)...} {}

    template <class... Stop>
    exchange_operation(protocol& with, clock::time_point limit, own&& item, Stop&&... stop) noexcept
        : exchange_operation(with, std::move(item), std::forward<Stop>(stop)...) {
        this->deadline = limit;
    }

    template <class... Stop>
    exchange_operation(protocol& with, clock::duration patience, own&& item,
                       Stop&&... stop) noexcept
        : exchange_operation(with, clock::time_point(patience), std::move(item),
                             std::forward<Stop>(stop)...) {
        relative_ = true;
    }

    // Out of line, because it must not touch the frame once the waiter is published, and compilers
    // inlining it into a coroutine may (LLVM before 17 spills there).
    [[gnu::noinline]] bool suspend() noexcept {
        if constexpr (Limits::timed) {
            if (is_over(this->executor)) {
                return false;
            }
        }
        this->unstoppable = !can_be_limited();
        this->run = resume;
        stage_ = stage::offered;
        const bool unstoppable_offer = this->unstoppable;
        const arrival where = protocol_->arrive(mine(), static_cast<bool>(this->executor));
        if (where == arrival::waiting && !unstoppable_offer && this->executor) {
            return wait_a_turn();
        }
        return stay(where, unstoppable_offer);
    }

    /// Goes on from where the protocol has left us. `unstoppable_offer` is `unstoppable`, which must not be read
    /// any more if it is true.
    /// @returns whether we are suspended.
    bool stay(arrival where, bool unstoppable_offer) noexcept {
        switch (where) {
        case arrival::completed:
            return false;
        case arrival::waiting:
            if (unstoppable_offer) {
                return true;
            }
            start_limits();
            return protocol_->park(mine());
        case arrival::offered:
        case arrival::claimed:
            return wait_a_turn();
        }
        return false;
    }

    /// The patience of an offer above slot 0 is one turn of the loop. In slot 0 the stop and the
    /// deadline come into force after it: where partners abound, few waits last that long, and the
    /// others need neither a timer nor a callback (docs/adr/0003).
    bool wait_a_turn() noexcept {
        this->run = check;
        this->executor.post(this);
        return true;
    }

    static void check(executor_node* node) noexcept {
        auto& self = *static_cast<exchange_operation*>(node);
        const bool unstoppable_offer = self.unstoppable;
        self.run = resume;
        if (!self.stay(self.protocol_->expire(self.mine()), unstoppable_offer)) {
            self.coroutine_.resume();
        }
    }

    static void resume(executor_node* node) noexcept {
        static_cast<exchange_operation*>(node)->coroutine_.resume();
    }

    /// Waits as whoever has this strategy. The wait may go on in another thread after each suspension, so
    /// thread-locals are left to the steps between.
    template <class WaitStrategy>
    typename Side::result wait_with(WaitStrategy& strategy) noexcept {
        arrival where = strategy.step([&] { return arrive_as(strategy); });
        bool waited_in_list = false;
        while (where != arrival::completed && !waited_in_list) {
            waited_in_list = where == arrival::waiting;
            look_out(strategy);
            where = strategy.step([&] { return protocol_->expire(mine()); });
        }
        if (where != arrival::completed && strategy.step([&] {
                start_listening();
                return protocol_->park(mine());
            })) {
            sleep(strategy);
        }
        return strategy.step([&] { return await_resume(); });
    }

    template <class WaitStrategy>
    arrival arrive_as(WaitStrategy& strategy) noexcept {
        assert(detail::may_block() && "tryst: a loop's own thread must not block");
        if (await_ready()) {
            return arrival::completed;
        }
        if constexpr (Limits::timed) {
            if (is_over({})) {
                return arrival::completed;
            }
        }
        stage_ = stage::offered;
        this->executor = strategy.executor();
        return protocol_->arrive(mine(), true);
    }

    template <class WaitStrategy>
    void look_out(WaitStrategy& strategy) noexcept {
        strategy.look_out([&] { return protocol::is_done(*this); },
                          [&] {
                              if constexpr (Limits::timed) {
                                  fix_deadline();
                                  return clock::now() >= this->deadline;
                              }
                              return false;
                          });
    }

    /// Sleeps until completed. Precondition: parked.
    template <class WaitStrategy>
    void sleep(WaitStrategy& strategy) noexcept {
        if constexpr (Limits::timed) {
            fix_deadline();
            if (strategy.sleep_until(this->deadline)) {
                return;
            }
            strategy.step(
                [&] { protocol_->cancel(mine(), detail::signal::stop | detail::signal::expired); });
        }
        strategy.sleep();
    }

    bool can_be_limited() const noexcept {
        if constexpr (Limits::stoppable) {
            return Limits::timed || stop_.token.stop_possible();
        }
        return Limits::timed;
    }

    /// Whether there is no time to wait; then takes a partner that is waiting, or gives up.
    bool is_over(executor_ref timer) noexcept {
        const auto now = [&] { return timer.has_timers() ? timer.now() : clock::now(); };
        const auto start = relative_ ? clock::time_point() : now();
        if (this->deadline > start) {
            return false;
        }
        if (!protocol_->take(mine())) {
            this->result = detail::outcome::timed_out;
        }
        return true;
    }

    /// Turns a patience into a deadline.
    void fix_deadline() noexcept {
        if (std::exchange(relative_, false)) {
            const auto now = timers_ == timers::none ? clock::now() : timer_executor().now();
            this->deadline = detail::after(now, this->deadline.time_since_epoch());
        }
    }

    /// From here on the stop and the deadline can end the wait.
    void start_limits() noexcept {
        if constexpr (Limits::timed) {
            timers_ = this->executor.has_timers() ? timers::of_executor : timers::of_thread;
            fix_deadline();
            this->fire = [](timer_node* node) noexcept {
                auto& self = static_cast<exchange_operation&>(*node);
                self.protocol_->cancel(self.mine(), detail::signal::stop | detail::signal::expired);
            };
            timer_executor().arm(this);
        }
        start_listening();
    }

    void start_listening() noexcept {
        if constexpr (Limits::stoppable) {
            auto token = std::move(stop_.token);
            std::destroy_at(&stop_.token);
            std::construct_at(&stop_.callback, std::move(token), stop_request{this});
        }
        this->limited = true;
        stage_ = stage::limited;
    }

    executor_ref timer_executor() const noexcept {
        return timers_ == timers::of_executor ? this->executor : detail::timer_thread_executor();
    }

    enum class timers : std::uint8_t { none, of_executor, of_thread };

    protocol* protocol_;
    std::coroutine_handle<> coroutine_;
    /// From stage `limited` on the callback, before it the token.
    [[no_unique_address]] detail::stop_state<typename Limits::token, stop_request> stop_;
    stage stage_ = stage::created;
    timers timers_ = timers::none;
    bool relative_ = false;
};

namespace detail {

/// The ways to start an exchange on one side, each with or without a stop token.
template <class Side>
struct start {
    using protocol = typename Side::protocol;
    using own = typename Side::own;

    template <class... StopToken>
    static auto make_exchange(protocol& with, own&& item, StopToken&&... stop) noexcept {
        return operation<false, StopToken...>(with, std::move(item), std::move(stop)...);
    }
    template <class Duration, class... StopToken>
    static auto make_exchange_for(protocol& with, own&& item, Duration patience,
                                  StopToken&&... stop) noexcept {
        return operation<true, StopToken...>(with, saturated(patience), std::move(item),
                                             std::move(stop)...);
    }
    template <class Duration, class... StopToken>
    static auto make_exchange_until(protocol& with, own&& item,
                                    std::chrono::time_point<clock, Duration> deadline,
                                    StopToken&&... stop) noexcept {
        return operation<true, StopToken...>(
            with, clock::time_point(saturated(deadline.time_since_epoch())), std::move(item),
            std::move(stop)...);
    }
    static typename Side::result try_exchange(protocol& with, own&& item) noexcept {
        typename Side::waiter w(std::move(item));
        if (!with.take(w)) {
            w.result = outcome::no_partner;
        }
        return Side::result_of(w);
    }

private:
    template <bool Timed, class... StopToken>
    using operation = exchange_operation<Side, limits<Timed, StopToken...>>;
};

} // namespace detail

/// @}
} // namespace tryst
