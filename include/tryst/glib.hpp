// SPDX-License-Identifier: MIT
/// @file
/// Runs tasks of tryst on a main context of GLib (target `tryst::glib`).
/// GLib.
#pragma once

#include <tryst/loop_executor.hpp>

#include <chrono>
#include <memory>

#include <glib.h>

/// @namespace tryst::glib
/// The adapter for GLib.
namespace tryst::glib {

namespace detail {

/// Owns the sources that wake the context. Only `dispatch`, not GLib, clears a ready time.
class context {
public:
    context(loop_turns& turns, GMainContext* its, int priority = G_PRIORITY_DEFAULT) noexcept
        : wake_(attach(its, priority, on_wake, turns)),
          timer_(attach(its, priority, on_time, turns)) {}

    void wake() noexcept { g_source_set_ready_time(wake_.get(), 0); }

    void set_timer(std::chrono::nanoseconds after) noexcept {
        // The clock is rounded down to microseconds.
        const auto whole = std::chrono::ceil<std::chrono::microseconds>(after).count() + 1;
        g_source_set_ready_time(timer_.get(), g_get_monotonic_time() + whole);
    }
    void cancel_timer() noexcept { g_source_set_ready_time(timer_.get(), -1); }

private:
    struct destroy {
        void operator()(GSource* source) const noexcept {
            g_source_destroy(source);
            g_source_unref(source);
        }
    };
    using source = std::unique_ptr<GSource, destroy>;

    static gboolean on_wake(gpointer turns) noexcept {
        static_cast<loop_turns*>(turns)->run_turn();
        return G_SOURCE_CONTINUE;
    }
    static gboolean on_time(gpointer turns) noexcept {
        static_cast<loop_turns*>(turns)->timer_expired();
        return G_SOURCE_CONTINUE;
    }
    static gboolean dispatch(GSource* source, GSourceFunc callback, gpointer data) noexcept {
        g_source_set_ready_time(source, -1); // before the turn, which may set it again
        return callback(data);
    }

    static source attach(GMainContext* its, int priority, GSourceFunc callback,
                         loop_turns& turns) noexcept {
        static GSourceFuncs functions{nullptr, nullptr, dispatch, nullptr, nullptr, nullptr};
        source made(g_source_new(&functions, sizeof(GSource)));
        g_source_set_priority(made.get(), priority);
        g_source_set_callback(made.get(), callback, &turns, nullptr);
        g_source_attach(made.get(), its);
        return made;
    }

    source wake_;
    source timer_;
};

} // namespace detail

/// Runs tasks of tryst on the thread that iterates a main context: `executor on_main(context);`,
/// optionally with a priority. A null context is the default one, which GTK runs. See
/// `tryst::loop_executor`.
///
/// As long as tasks are ready, sources of lower priority do not run; `g_idle_add` makes such.
///
/// @throws nothing. If there is no memory, GLib ends the program.
using executor = loop_executor<detail::context>;

} // namespace tryst::glib
