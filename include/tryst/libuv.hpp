// SPDX-License-Identifier: MIT
/// @file
/// Runs tasks of tryst on a loop of libuv (target `tryst::libuv`).
/// libuv.
#pragma once

#include <tryst/loop_executor.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <system_error>

#include <uv.h>

/// @namespace tryst::libuv
/// The adapter for libuv.
namespace tryst::libuv {

namespace detail {

/// Owns the handles that wake the loop.
class loop {
public:
    loop(loop_turns& turns, uv_loop_t* its) {
        auto made = std::make_unique<handles>();
        if (const int error = uv_async_init(its, &made->async, on_wake); error != 0) {
            throw std::system_error(-error, std::generic_category(), "uv_async_init");
        }
        uv_timer_init(its, &made->timer);
        made->async.data = made->timer.data = &turns;
        handles_ = made.release();
        keep_alive(false);
    }
    loop(loop&&) = delete;
    ~loop() {
        handles_->async.data = handles_->timer.data = handles_;
        uv_close(as_handle(&handles_->async), on_close);
        uv_close(as_handle(&handles_->timer), on_close);
    }

    void wake() noexcept { uv_async_send(&handles_->async); }

    void set_timer(std::chrono::nanoseconds after) noexcept {
        // The loop's clock is rounded down, and stands still during a callback.
        uv_update_time(handles_->timer.loop);
        const auto whole = std::chrono::ceil<std::chrono::milliseconds>(after).count() + 1;
        uv_timer_start(&handles_->timer, on_time, static_cast<std::uint64_t>(whole), 0);
    }
    void cancel_timer() noexcept { uv_timer_stop(&handles_->timer); }

    void keep_alive(bool alive) noexcept {
        (alive ? uv_ref : uv_unref)(as_handle(&handles_->async));
    }

private:
    /// The loop uses them until it has called both close callbacks.
    struct handles {
        uv_async_t async;
        uv_timer_t timer;
        int open = 2;
    };

    template <class Handle>
    static uv_handle_t* as_handle(Handle* handle) noexcept {
        return reinterpret_cast<uv_handle_t*>(handle);
    }
    static void on_wake(uv_async_t* async) noexcept {
        static_cast<loop_turns*>(async->data)->run_turn();
    }
    static void on_time(uv_timer_t* timer) noexcept {
        static_cast<loop_turns*>(timer->data)->timer_expired();
    }
    static void on_close(uv_handle_t* handle) noexcept {
        auto* const all = static_cast<handles*>(handle->data);
        if (--all->open == 0) {
            delete all;
        }
    }

    handles* handles_;
};

} // namespace detail

/// Runs tasks of tryst on the thread that runs a loop of libuv: `executor on_loop(loop);`. See
/// `tryst::loop_executor`.
///
/// `uv_run` returns when all tasks have finished and the loop has nothing else to wait for. The
/// loop must outlive the executor. After the destruction, run the loop once more before
/// `uv_loop_close`, because the executor's two handles are being closed. They keep to the loop's
/// clock, so a deadline is at most 2 ms late.
///
/// @throws std::system_error if the loop cannot be woken because there is no file descriptor;
///   std::bad_alloc.
using executor = loop_executor<detail::loop>;

} // namespace tryst::libuv
