// SPDX-License-Identifier: MIT
/// @file
/// Runs tasks of tryst on an event loop of systemd (target `tryst::systemd`).
/// Linux, libsystemd.
#pragma once

#include <tryst/detail/run/eventfd.hpp>
#include <tryst/loop_executor.hpp>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <system_error>

#include <sys/epoll.h>
#include <systemd/sd-event.h>

/// @namespace tryst::systemd
/// The adapter for sd-event.
namespace tryst::systemd {

namespace detail {

/// Owns the sources that wake the loop. sd-event is not thread-safe, hence the eventfd.
class loop {
public:
    loop(loop_turns& turns, sd_event* its) : turns_(turns) {
        sd_event_source* made = nullptr;
        check(sd_event_add_io(its, &made, eventfd_.get(), EPOLLIN, on_wake, this),
              "sd_event_add_io");
        wake_.reset(made);
        constexpr std::uint64_t accuracy = 1; // us
        check(sd_event_add_time(its, &made, CLOCK_MONOTONIC, 0, accuracy, on_time, this),
              "sd_event_add_time");
        timer_.reset(made);
        cancel_timer();
    }
    loop(loop&&) = delete;
    ~loop() = default;

    void wake() noexcept { eventfd_.signal(); }

    void set_timer(std::chrono::nanoseconds after) noexcept {
        // The time of the loop itself stands still during a callback.
        const auto at = tryst::detail::clock::now().time_since_epoch() + after;
        const auto whole = std::chrono::ceil<std::chrono::microseconds>(at).count();
        sd_event_source_set_time(timer_.get(), static_cast<std::uint64_t>(whole));
        sd_event_source_set_enabled(timer_.get(), SD_EVENT_ONESHOT);
    }
    void cancel_timer() noexcept { sd_event_source_set_enabled(timer_.get(), SD_EVENT_OFF); }

private:
    struct destroy {
        void operator()(sd_event_source* it) const noexcept { sd_event_source_disable_unref(it); }
    };
    using source = std::unique_ptr<sd_event_source, destroy>;

    static void check(int result, const char* what) {
        if (result < 0) {
            throw std::system_error(-result, std::generic_category(), what);
        }
    }
    static int on_wake(sd_event_source* /*it*/, int /*eventfd*/, std::uint32_t /*events*/,
                       void* self) noexcept {
        static_cast<loop*>(self)->eventfd_.reset();
        static_cast<loop*>(self)->turns_.run_turn();
        return 0;
    }
    static int on_time(sd_event_source* /*it*/, std::uint64_t /*time*/, void* self) noexcept {
        static_cast<loop*>(self)->turns_.timer_expired();
        return 0;
    }

    loop_turns& turns_;
    tryst::detail::eventfd eventfd_;
    source wake_;
    source timer_;
};

} // namespace detail

/// Runs tasks of tryst on the thread that runs an event loop of systemd: `executor on_loop(event);`
/// See `tryst::loop_executor`. To end `sd_event_loop`, call `sd_event_exit` on its thread.
///
/// @throws std::system_error if there is no file descriptor or no memory.
using executor = loop_executor<detail::loop>;

} // namespace tryst::systemd
