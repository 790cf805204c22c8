// SPDX-License-Identifier: MIT
/// @file
/// Runs tasks of tryst on an event base of libevent (target `tryst::libevent`).
/// Linux, libevent.
#pragma once

#include <tryst/detail/run/eventfd.hpp>
#include <tryst/loop_executor.hpp>

#include <cerrno>
#include <chrono>
#include <memory>
#include <new>
#include <system_error>

#include <event2/event.h>
#include <event2/util.h>
#include <sys/time.h>

/// @namespace tryst::libevent
/// The adapter for libevent.
namespace tryst::libevent {

namespace detail {

/// Owns the events that wake the base. An eventfd does so even if libevent has no locks.
class base {
public:
    base(loop_turns& turns, event_base* its)
        : turns_(turns), wake_(event_new(its, eventfd_.get(), EV_READ | EV_PERSIST, on_wake, this)),
          timer_(event_new(its, -1, 0, on_time, this)) {
        if (!wake_ || !timer_) {
            throw std::bad_alloc();
        }
        if (event_add(wake_.get(), nullptr) != 0) {
            throw std::system_error(errno, std::generic_category(), "event_add");
        }
    }
    base(base&&) = delete;
    ~base() = default;

    void wake() noexcept { eventfd_.signal(); }

    void set_timer(std::chrono::nanoseconds after) noexcept {
        using std::chrono::microseconds;
        const auto whole = std::chrono::ceil<microseconds>(after);
        const auto seconds = std::chrono::floor<std::chrono::seconds>(whole);
        const timeval time{seconds.count(), microseconds(whole - seconds).count()};
        event_base_update_cache_time(event_get_base(timer_.get())); // stands still in a callback
        event_add(timer_.get(), &time);
    }
    void cancel_timer() noexcept { event_del(timer_.get()); }

private:
    struct destroy {
        void operator()(event* it) const noexcept { event_free(it); }
    };

    static void on_wake(evutil_socket_t /*eventfd*/, short /*what*/, void* self) noexcept {
        static_cast<base*>(self)->eventfd_.reset();
        static_cast<base*>(self)->turns_.run_turn();
    }
    static void on_time(evutil_socket_t /*none*/, short /*what*/, void* self) noexcept {
        static_cast<base*>(self)->turns_.timer_expired();
    }

    loop_turns& turns_;
    tryst::detail::eventfd eventfd_;
    std::unique_ptr<event, destroy> wake_;
    std::unique_ptr<event, destroy> timer_;
};

} // namespace detail

/// Runs tasks of tryst on the thread that dispatches an event base: `executor on_base(base);`. The
/// base needs no `evthread_use_pthreads`. See `tryst::loop_executor`.
///
/// The base must outlive the executor. `event_base_dispatch` does not return as long as the
/// executor exists: call `event_base_loopbreak` or `event_base_loopexit` on the base's thread.
///
/// @throws std::system_error if there is no file descriptor; std::bad_alloc.
using executor = loop_executor<detail::base>;

} // namespace tryst::libevent
