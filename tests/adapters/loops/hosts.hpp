// SPDX-License-Identifier: MIT
/// @file
/// The loops under test, each with the same interface:
/// - `make(arguments)` makes an executor of the given type;
/// - `run()` runs the loop until `stop()`, which is called on its thread;
/// - `defer(work)` makes the loop do other work soon; call it on the loop's thread;
/// - `wake`, unless it wakes itself: what `loop_executor` needs of the loop;
/// - `may_move`: whether another thread may run the loop than made it;
/// - `iterate()`, if there is one, runs the loop within a callback of the loop.
/// Make, run and destroy each on one thread.
#pragma once

#include <tryst/loop_executor.hpp>
#include <tryst/run_loop.hpp>

#ifdef TRYST_TEST_LIBUV
#include <tryst/libuv.hpp>
#endif
#ifdef TRYST_TEST_GLIB
#include <tryst/glib.hpp>
#endif
#ifdef TRYST_TEST_QT
#include <tryst/qt.hpp>

#include <QtCore/QEventLoop>
#include <QtCore/QTimer>
#endif
#ifdef TRYST_TEST_LIBEVENT
#include <tryst/libevent.hpp>
#endif
#ifdef TRYST_TEST_SYSTEMD
#include <tryst/systemd.hpp>
#endif
#ifdef TRYST_TEST_ASIO
#include "adapters/asio/net.hpp"
#endif

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace tryst::test {

using work = std::function<void()>;

#ifdef TRYST_TEST_LIBUV
class libuv_host {
public:
    static constexpr const char* name = "libuv";
    static constexpr bool may_move = true;
    using executor = libuv::executor;
    using wake = libuv::detail::loop;

    libuv_host() {
        uv_loop_init(&loop_);
        uv_async_init(&loop_, &open_, [](uv_async_t*) {});
    }
    libuv_host(const libuv_host&) = delete;
    libuv_host& operator=(const libuv_host&) = delete;
    ~libuv_host() {
        close(&open_, nullptr);
        EXPECT_EQ(uv_run(&loop_, UV_RUN_DEFAULT), 0);
        EXPECT_EQ(uv_loop_close(&loop_), 0);
    }

    template <class Executor>
    auto make() {
        return std::make_unique<Executor>(&loop_);
    }
    void run() { uv_run(&loop_, UV_RUN_DEFAULT); }
    void stop() noexcept { uv_stop(&loop_); }
    void defer(work todo) {
        struct once {
            uv_timer_t timer{};
            work todo;
        };
        auto* const made = new once;
        made->todo = std::move(todo);
        made->timer.data = made;
        uv_timer_init(&loop_, &made->timer);
        const auto on_time = [](uv_timer_t* timer) {
            static_cast<once*>(timer->data)->todo();
            close(timer, [](uv_handle_t* handle) { delete static_cast<once*>(handle->data); });
        };
        uv_timer_start(&made->timer, on_time, 0, 0);
    }

    uv_loop_t* get() noexcept { return &loop_; }

private:
    template <class Handle>
    static void close(Handle* handle, uv_close_cb then) {
        uv_close(reinterpret_cast<uv_handle_t*>(handle), then);
    }

    uv_loop_t loop_;
    uv_async_t open_; // the loop runs until `stop`
};
#endif

#ifdef TRYST_TEST_GLIB
class glib_host {
public:
    static constexpr const char* name = "glib";
    static constexpr bool may_move = true;
    using executor = glib::executor;
    using wake = glib::detail::context;

    template <class Executor>
    auto make() {
        return std::make_unique<Executor>(context_.get());
    }
    void run() { g_main_loop_run(loop_.get()); }
    void stop() noexcept { g_main_loop_quit(loop_.get()); }
    void defer(work todo) {
        const std::unique_ptr<GSource, void (*)(GSource*)> idle(g_idle_source_new(),
                                                                g_source_unref);
        g_source_set_priority(idle.get(), G_PRIORITY_DEFAULT);
        const auto on_idle = [](gpointer data) {
            (*static_cast<work*>(data))();
            return gboolean(G_SOURCE_REMOVE);
        };
        g_source_set_callback(idle.get(), on_idle, new work(std::move(todo)),
                              [](gpointer data) { delete static_cast<work*>(data); });
        g_source_attach(idle.get(), context_.get());
    }
    void iterate() { g_main_context_iteration(context_.get(), FALSE); }

private:
    std::unique_ptr<GMainContext, void (*)(GMainContext*)> context_{g_main_context_new(),
                                                                    g_main_context_unref};
    std::unique_ptr<GMainLoop, void (*)(GMainLoop*)> loop_{g_main_loop_new(context_.get(), FALSE),
                                                           g_main_loop_unref};
};
#endif

#ifdef TRYST_TEST_QT
class qt_host {
public:
    static constexpr const char* name = "qt";
    static constexpr bool may_move = false;
    using executor = qt::executor;
    using wake = qt::detail::receiver;

    template <class Executor>
    auto make() {
        return std::make_unique<Executor>();
    }
    void run() { loop_.exec(); }
    void stop() noexcept { loop_.quit(); }
    void defer(work todo) { QTimer::singleShot(0, &loop_, std::move(todo)); }
    void iterate() { QEventLoop().processEvents(); }

private:
    QEventLoop loop_;
};
#endif

#ifdef TRYST_TEST_LIBEVENT
class libevent_host {
public:
    static constexpr const char* name = "libevent";
    static constexpr bool may_move = true;
    using executor = libevent::executor;
    using wake = libevent::detail::base;

    template <class Executor>
    auto make() {
        return std::make_unique<Executor>(base_.get());
    }
    void run() { event_base_loop(base_.get(), EVLOOP_NO_EXIT_ON_EMPTY); }
    void stop() noexcept { event_base_loopbreak(base_.get()); }
    void defer(work todo) {
        const timeval now{};
        const auto on_time = [](evutil_socket_t, short, void* data) {
            const std::unique_ptr<work> once(static_cast<work*>(data));
            (*once)();
        };
        event_base_once(base_.get(), -1, EV_TIMEOUT, on_time, new work(std::move(todo)), &now);
    }

private:
    std::unique_ptr<event_base, void (*)(event_base*)> base_{event_base_new(), event_base_free};
};
#endif

#ifdef TRYST_TEST_SYSTEMD
class systemd_host {
public:
    static constexpr const char* name = "systemd";
    static constexpr bool may_move = true;
    using executor = systemd::executor;
    using wake = systemd::detail::loop;

    systemd_host() { EXPECT_GE(sd_event_new(&event_), 0); }
    systemd_host(const systemd_host&) = delete;
    systemd_host& operator=(const systemd_host&) = delete;
    ~systemd_host() { sd_event_unref(event_); }

    template <class Executor>
    auto make() {
        return std::make_unique<Executor>(event_);
    }
    void run() {
        // Not `sd_event_loop`, which can run once only.
        for (stopped_ = false; !stopped_;) {
            sd_event_run(event_, UINT64_MAX);
        }
    }
    void stop() noexcept { stopped_ = true; }
    void defer(work todo) {
        const auto on_defer = [](sd_event_source*, void* data) {
            const std::unique_ptr<work> once(static_cast<work*>(data));
            (*once)();
            return 0;
        };
        sd_event_add_defer(event_, nullptr, on_defer, new work(std::move(todo)));
    }

private:
    sd_event* event_ = nullptr;
    bool stopped_ = false;
};
#endif

#ifdef TRYST_TEST_ASIO
class asio_host {
public:
    static constexpr const char* name = "asio";
    static constexpr bool may_move = true;
    using executor = asio::task_executor<asio::net::io_context::executor_type>;

    template <class Executor>
    auto make() {
        return std::make_unique<Executor>(io_);
    }
    void run() {
        io_.restart();
        const auto guard = asio::net::make_work_guard(io_);
        io_.run();
    }
    void stop() noexcept { io_.stop(); }
    void defer(work todo) { asio::net::post(io_, std::move(todo)); }
    void iterate() { io_.poll(); }

private:
    asio::net::io_context io_;
};
#endif

/// A loop without timers, and all that makes an executor of it.
class small_loop {
public:
    void post(work todo) {
        const std::scoped_lock lock(mutex_);
        todo_.push_back(std::move(todo));
        ready_.notify_one();
    }
    void run_one() {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [this] { return !todo_.empty(); });
        const work next = std::move(todo_.front());
        todo_.pop_front();
        lock.unlock();
        next();
    }

private:
    std::mutex mutex_;
    std::condition_variable ready_;
    std::deque<work> todo_;
};

class small_wake {
public:
    small_wake(loop_turns& turns, small_loop& loop) : loop_(loop), turns_(&turns) {}
    small_wake(const small_wake&) = delete;
    small_wake& operator=(const small_wake&) = delete;
    ~small_wake() { *alive_ = false; }

    void wake() noexcept {
        loop_.post([turns = turns_, alive = alive_] {
            if (*alive) { // read and written on the loop's thread only
                turns->run_turn();
            }
        });
    }

private:
    small_loop& loop_;
    loop_turns* turns_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class small_host {
public:
    static constexpr const char* name = "small";
    static constexpr bool may_move = true;
    using executor = loop_executor<small_wake>;
    using wake = small_wake;

    template <class Executor>
    auto make() {
        return std::make_unique<Executor>(loop_);
    }
    void run() {
        for (stopped_ = false; !stopped_;) {
            loop_.run_one();
        }
    }
    void stop() noexcept { stopped_ = true; }
    void defer(work todo) { loop_.post(std::move(todo)); }
    void iterate() {
        bool reached = false;
        loop_.post([&] { reached = true; });
        while (!reached) {
            loop_.run_one();
        }
    }

private:
    small_loop loop_;
    bool stopped_ = false;
};

/// Those that are built.
using hosts = ::testing::Types<
#ifdef TRYST_TEST_LIBUV
    libuv_host,
#endif
#ifdef TRYST_TEST_GLIB
    glib_host,
#endif
#ifdef TRYST_TEST_QT
    qt_host,
#endif
#ifdef TRYST_TEST_LIBEVENT
    libevent_host,
#endif
#ifdef TRYST_TEST_SYSTEMD
    systemd_host,
#endif
#ifdef TRYST_TEST_ASIO
    asio_host,
#endif
    small_host>;

struct host_names {
    template <class Host>
    // NOLINTNEXTLINE(readability-identifier-naming): gtest's own
    static std::string GetName(int /*index*/) {
        return Host::name;
    }
};

} // namespace tryst::test
