// SPDX-License-Identifier: MIT
/// @file
/// One exchange in progress: what `exchanger<T>`'s members return, to be awaited once.
/// Standard library only. Never allocates.
#pragma once

#include <tryst/detail/atomic.hpp>
#include <tryst/detail/parker.hpp>
#include <tryst/detail/protocol.hpp>
#include <tryst/detail/time.hpp>
#include <tryst/detail/timer_thread.hpp>
#include <tryst/detail/waiter.hpp>
#include <tryst/executor.hpp>
#include <tryst/result.hpp>

#include <cassert>
#include <chrono>
#include <coroutine>
#include <memory>
#include <type_traits>
#include <utility>

namespace tryst {

template <class T>
class exchanger;

namespace detail {

/// What can end a wait besides a partner and a close.
template <bool Timed, bool Stoppable>
struct limits {
    static constexpr bool timed = Timed;
    static constexpr bool stoppable = Stoppable;
};
struct no_deadline {};
struct no_stop_source {};

/// The executor of a thread that waits by itself: posting its one waiter wakes it.
inline executor_ref this_thread_executor() noexcept {
    static constexpr executor_vtable vtable{.post = [](void* context, executor_node*) noexcept {
        static_cast<parker*>(context)->unpark();
    }};
    return {&per_thread<parker>(), &vtable};
}

} // namespace detail

/// One exchange, lazily started: nothing happens until it is awaited by `co_await`, or by a plain
/// thread with `sync_wait`. Await it at most once.
///
/// @returns     `exchange_result<T>`: the partner's item, or an error and the own item back.
/// @throws      nothing.
/// @progress    lock-free until suspension.
/// @resumes     on the executor it was awaited on (`executor_of`); without one, inline in whoever
///              completes it. A match found at once does not suspend.
/// @cancellation total: a failure means that nothing was exchanged; a match wins over a later stop or
///              deadline. The coroutine may be destroyed while it waits, on its executor: the offer is
///              withdrawn. (A coroutine without executor only while no partner can come, and none while
///              its exchanger is being destroyed elsewhere.)
/// @sync        everything before the partner's exchange happens-before our return, and vice versa.
/// @allocation  none.
template <class T, class Limits>
class [[nodiscard]] exchange_operation
    : private detail::item_waiter<T>,
      private std::conditional_t<Limits::timed, timer_node, detail::no_deadline> {
public:
    exchange_operation(const exchange_operation&) = delete;
    exchange_operation& operator=(const exchange_operation&) = delete;

    ~exchange_operation() {
        switch (stage_) {
        case stage::created:
            if constexpr (Limits::stoppable) {
                std::destroy_at(&stop_.token);
            }
            break;
        case stage::started:
            abandon();
            break;
        case stage::finished:
            break;
        }
    }

    bool await_ready() noexcept {
        assert(stage_ == stage::created && "tryst: an exchange can be awaited only once");
        if constexpr (Limits::stoppable) {
            if (stop_.token.stop_requested()) {
                this->result = detail::outcome::cancelled;
                return true;
            }
        }
        return protocol_->meet(*this);
    }

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        coroutine_ = coroutine;
        this->executor = executor_of(coroutine);
        return suspend();
    }

    exchange_result<T> await_resume() noexcept {
        finish();
        if (this->result == detail::outcome::exchanged) {
            return exchange_result<T>(std::move(this->mine.get()));
        }
        return {static_cast<exchange_errc>(this->result), std::move(this->mine.get())};
    }

    /// Waits as a plain thread: spins for a moment, then sleeps. What `sync_wait` calls.
    exchange_result<T> wait() noexcept {
        assert(!current_executor() && "tryst: a loop's own thread must not block");
        if (!await_ready()) {
            wait_for_partner();
        }
        return await_resume();
    }

private:
    friend class exchanger<T>;
    using protocol = detail::protocol<T>;
    using arrival = detail::arrival;
    using clock = detail::clock;

    enum class stage : std::uint8_t { created, started, finished };

    struct stop_request {
        exchange_operation* operation;
        void operator()() const noexcept {
            operation->protocol_->cancel(*operation, detail::signal::stop);
        }
    };
    /// The token until the start, a callback registered with it from then on.
    union stop_source {
        explicit stop_source(detail::stop_token&& t) noexcept : token(std::move(t)) {}
        ~stop_source() {}
        detail::stop_token token;
        detail::stop_callback<stop_request> callback;
    };

    template <class... Stop>
    explicit exchange_operation(protocol& with, T&& item, Stop&&... stop) noexcept
        : detail::item_waiter<T>(std::move(item)), protocol_(&with),
          stop_{std::forward<Stop>(stop)...} {}

    template <class... Stop>
    exchange_operation(protocol& with, clock::time_point limit, T&& item, Stop&&... stop) noexcept
        : exchange_operation(with, std::move(item), std::forward<Stop>(stop)...) {
        this->deadline = limit;
    }

    template <class... Stop>
    exchange_operation(protocol& with, clock::duration patience, T&& item, Stop&&... stop) noexcept
        : exchange_operation(with, clock::time_point(patience), std::move(item),
                             std::forward<Stop>(stop)...) {
        relative_ = true;
    }

    // Out of line, because it must not touch the frame once the waiter is published, and compilers
    // inlining it into a coroutine may (LLVM before 17 spills there).
    [[gnu::noinline]] bool suspend() noexcept {
        if constexpr (Limits::timed) {
            if (!this->executor.has_timers()) {
                timers_ = timers::of_thread;
            }
            if (!start_clock(timer_executor())) {
                return false;
            }
        }
        const bool only_partners = this->simple = start_listening();
        this->run = resume;
        stage_ = stage::started;
        if constexpr (Limits::timed) {
            this->fire = [](timer_node* node) noexcept {
                auto& self = static_cast<exchange_operation&>(*node);
                self.protocol_->cancel(self, detail::signal::stop | detail::signal::expired);
            };
            timer_executor().arm(this);
        }
        return stay(protocol_->arrive(*this, static_cast<bool>(this->executor)), only_partners);
    }

    /// Goes on from where the protocol has left us. `only_partners` is `simple`, which must not be read
    /// any more.
    /// @returns whether we are suspended.
    bool stay(arrival where, bool only_partners) noexcept {
        switch (where) {
        case arrival::settled:
            return false;
        case arrival::waiting:
            return only_partners || protocol_->park(*this);
        case arrival::offered:
        case arrival::claimed:
            this->run = check;
            this->executor.post(this);
            return true;
        }
        return false;
    }

    static void resume(executor_node* node) noexcept {
        static_cast<exchange_operation*>(node)->coroutine_.resume();
    }

    /// One turn of the loop after an offer above slot 0.
    static void check(executor_node* node) noexcept {
        auto& self = *static_cast<exchange_operation*>(node);
        const bool only_partners = self.simple;
        self.run = resume;
        if (!self.stay(self.protocol_->expire(self), only_partners)) {
            self.coroutine_.resume();
        }
    }

    void wait_for_partner() noexcept {
        if constexpr (Limits::timed) {
            timers_ = timers::none;
            if (!start_clock({})) {
                return;
            }
        }
        start_listening();
        stage_ = stage::started;
        this->executor = detail::this_thread_executor();
        arrival where = protocol_->arrive(*this, true);
        while (where == arrival::offered || where == arrival::claimed) {
            where == arrival::offered ? spin() : detail::yield_thread();
            where = protocol_->expire(*this);
        }
        if (where == arrival::waiting) {
            spin();
            if (protocol_->park(*this)) {
                sleep();
            }
        }
    }

    /// Looks out for a partner for a bounded time.
    void spin() noexcept {
        for (int round = 0; round != spin_rounds; ++round) {
            for (int i = 0; i != spin_pauses; ++i) {
                // Relaxed: `expire` and `park` acquire.
                if (this->state.load(std::memory_order_relaxed) != 0) {
                    return;
                }
                detail::spin_pause();
            }
            detail::yield_thread();
        }
    }

    /// Sleeps until completed. Precondition: parked.
    void sleep() noexcept {
        auto& parker = detail::per_thread<detail::parker>();
        if constexpr (Limits::timed) {
            if (parker.park_until(this->deadline)) {
                return;
            }
            protocol_->cancel(*this, detail::signal::stop | detail::signal::expired);
        }
        parker.park();
    }

    /// Fixes the deadline; if it has passed, takes a partner that is waiting or gives up.
    /// @returns whether there is time to wait.
    bool start_clock(executor_ref timer) noexcept {
        const clock::time_point now = timer ? timer.now() : clock::now();
        if (relative_) {
            this->deadline = detail::after(now, this->deadline.time_since_epoch());
        }
        if (this->deadline > now) {
            return true;
        }
        if (!protocol_->take(*this)) {
            this->result = detail::outcome::timed_out;
        }
        return false;
    }

    /// @returns whether nothing but a partner and a close can end the wait.
    bool start_listening() noexcept {
        bool possible = false;
        if constexpr (Limits::stoppable) {
            detail::stop_token token = std::move(stop_.token);
            possible = token.stop_possible();
            std::destroy_at(&stop_.token);
            std::construct_at(&stop_.callback, std::move(token), stop_request{this});
        }
        return !possible && !Limits::timed;
    }

    /// After this no stop and no deadline refers to us.
    void finish() noexcept {
        if constexpr (Limits::stoppable) {
            if (stage_ == stage::started) {
                std::destroy_at(&stop_.callback);
            } else {
                std::destroy_at(&stop_.token);
            }
        }
        if constexpr (Limits::timed) {
            if (stage_ == stage::started && timers_ != timers::none) {
                timer_executor().disarm(this);
            }
        }
        stage_ = stage::finished;
    }

    /// The frame is being destroyed while we are suspended.
    void abandon() noexcept {
        finish();
        const executor_ref home = this->executor;
        const bool above_home = this->run == check;
        const bool queued = home && home.retract(this);
        if (protocol_->abandon(*this, above_home, queued)) {
            return;
        }
        assert(home && "tryst: a coroutine without executor was destroyed while being resumed");
        while (!home.retract(this)) {
            detail::spin_pause();
        }
    }

    executor_ref timer_executor() const noexcept {
        return timers_ == timers::of_executor ? this->executor : detail::timer_thread_executor();
    }

    enum class timers : std::uint8_t { of_executor, of_thread, none };

    // How long a thread looks out before it sleeps: long enough for a partner that is running to arrive,
    // short enough to let one run that is not. The JDK's Exchanger spins 1,024 times, with two yields.
    static constexpr int spin_rounds = 4;
    static constexpr int spin_pauses = 64;

    protocol* protocol_;
    std::coroutine_handle<> coroutine_;
    [[no_unique_address]] std::conditional_t<Limits::stoppable, stop_source, detail::no_stop_source>
        stop_;
    stage stage_ = stage::created;
    timers timers_ = timers::of_executor;
    bool relative_ = false;
};

} // namespace tryst
