// SPDX-License-Identifier: MIT
// The loops of other libraries: what a hop to a loop costs a task, beside the library's own way to
// call a function there, between two threads and on one.
#include "pinned_thread.hpp"
#include "support.hpp"

#include <tryst/glib.hpp>
#include <tryst/libevent.hpp>
#include <tryst/libuv.hpp>
#include <tryst/systemd.hpp>
#include <tryst/tryst.hpp>

#include <tryst/qt.hpp>

#include <QtCore/QCoreApplication>
#include <QtCore/QEventLoop>
#include <QtCore/QMetaObject>
#include <QtCore/QObject>

#include <event2/thread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace tryst::bench {
namespace {

/// A function that a loop calls.
struct callback {
    void (*function)(void*);
    void* argument;
    void operator()() const { function(argument); }
};

// Each loop is made, run and destroyed on one thread. `end` is called there, `caller::call` on any
// thread: the library's own way to have the loop call a function.

class libuv_loop {
public:
    static constexpr std::string_view name = "libuv, uv_async_send";
    using executor = libuv::executor;

    libuv_loop() {
        uv_loop_init(&loop_);
        uv_async_init(&loop_, &busy_, nullptr);
    }
    ~libuv_loop() {
        uv_close(reinterpret_cast<uv_handle_t*>(&busy_), nullptr);
        uv_run(&loop_, UV_RUN_DEFAULT);
        uv_loop_close(&loop_);
    }
    uv_loop_t* get() { return &loop_; }
    void run() { uv_run(&loop_, UV_RUN_DEFAULT); }
    void end() { uv_stop(&loop_); }

    class caller {
    public:
        caller(libuv_loop& loop, callback what) : handle_(new handle{{}, what}) {
            uv_async_init(loop.get(), handle_,
                          [](uv_async_t* it) { static_cast<handle*>(it)->what(); });
        }
        ~caller() {
            uv_close(reinterpret_cast<uv_handle_t*>(static_cast<uv_async_t*>(handle_)),
                     [](uv_handle_t* it) {
                         delete static_cast<handle*>(reinterpret_cast<uv_async_t*>(it));
                     });
        }
        void call() { uv_async_send(handle_); }

    private:
        struct handle : uv_async_t {
            callback what;
        };
        handle* handle_;
    };

private:
    uv_loop_t loop_;
    uv_async_t busy_; // keeps the loop running until its end
};

class glib_loop {
public:
    static constexpr std::string_view name = "GLib, an idle source";
    using executor = glib::executor;

    ~glib_loop() {
        g_main_loop_unref(loop_);
        g_main_context_unref(context_);
    }
    GMainContext* get() { return context_; }
    void run() { g_main_loop_run(loop_); }
    void end() { g_main_loop_quit(loop_); }

    class caller {
    public:
        caller(glib_loop& loop, callback what) : context_(loop.get()), what_(what) {}
        void call() { // as g_main_context_invoke does
            GSource* const source = g_idle_source_new();
            g_source_set_priority(source, G_PRIORITY_DEFAULT);
            g_source_set_callback(
                source,
                [](gpointer self) -> gboolean {
                    static_cast<caller*>(self)->what_();
                    return G_SOURCE_REMOVE;
                },
                this, nullptr);
            g_source_attach(source, context_);
            g_source_unref(source);
        }

    private:
        GMainContext* context_;
        callback what_;
    };

private:
    GMainContext* context_ = g_main_context_new();
    GMainLoop* loop_ = g_main_loop_new(context_, FALSE);
};

class qt_loop {
public:
    static constexpr std::string_view name = "Qt, a queued connection";
    using executor = qt::executor;

    QObject* get() { return &loop_; }
    void run() { loop_.exec(); }
    void end() { loop_.quit(); }

    class caller {
    public:
        caller(qt_loop& /*loop*/, callback what) : what_(what) {}
        void call() { QMetaObject::invokeMethod(&object_, what_, Qt::QueuedConnection); }

    private:
        QObject object_;
        callback what_;
    };

private:
    QEventLoop loop_;
};

class libevent_loop {
public:
    static constexpr std::string_view name = "libevent, event_active";
    using executor = libevent::executor;

    ~libevent_loop() { event_base_free(base_); }
    event_base* get() { return base_; }
    void run() { event_base_loop(base_, EVLOOP_NO_EXIT_ON_EMPTY); }
    void end() { event_base_loopbreak(base_); }

    class caller {
    public:
        caller(libevent_loop& loop, callback what)
            : what_(what),
              event_(event_new(
                  loop.get(), -1, 0,
                  [](evutil_socket_t, short, void* self) { static_cast<caller*>(self)->what_(); },
                  this)) {}
        ~caller() { event_free(event_); }
        void call() { event_active(event_, 0, 0); }

    private:
        callback what_;
        event* event_;
    };

private:
    static event_base* make() {
        static const int locks = evthread_use_pthreads();
        static_cast<void>(locks);
        return event_base_new();
    }
    event_base* base_ = make();
};

class systemd_loop {
public:
    static constexpr std::string_view name = "sd-event, an eventfd";
    using executor = systemd::executor;

    systemd_loop() { sd_event_new(&loop_); }
    ~systemd_loop() { sd_event_unref(loop_); }
    sd_event* get() { return loop_; }
    void run() { sd_event_loop(loop_); }
    void end() { sd_event_exit(loop_, 0); }

    class caller {
    public:
        caller(systemd_loop& loop, callback what) : what_(what) {
            sd_event_add_io(
                loop.get(), &source_, file_, EPOLLIN,
                [](sd_event_source*, int file, std::uint32_t, void* self) {
                    eventfd_t count = 0;
                    eventfd_read(file, &count);
                    static_cast<caller*>(self)->what_();
                    return 0;
                },
                this);
        }
        ~caller() {
            sd_event_source_disable_unref(source_);
            close(file_);
        }
        void call() { eventfd_write(file_, 1); }

    private:
        callback what_;
        int file_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        sd_event_source* source_ = nullptr;
    };

private:
    sd_event* loop_ = nullptr;
};

// ---- The work: hops from loop to loop, in turn.

/// Loops in threads of their own, which make `hops` hops in total.
template <class Loop, class Hopper, std::size_t N>
struct scene {
    std::uint64_t hops;
    std::uint64_t done = 0; // handed on with the hops
    std::array<Loop*, N> loops{};
    std::array<Hopper*, N> hoppers{};

    /// Counts a hop, and ends the loop to which it was the last.
    /// @returns whether there is another.
    bool arrived() {
        ++done;
        if (done + N > hops) {
            loops[done % N]->end();
        }
        return done != hops;
    }
    std::size_t next() const { return (done + 1) % N; }
};

/// The library's own calls.
template <class Loop, std::size_t N>
class native_hopper {
public:
    using scene_type = scene<Loop, native_hopper, N>;

    native_hopper(Loop& loop, scene_type& all)
        : all_(all),
          caller_(loop, {[](void* self) { static_cast<native_hopper*>(self)->hop(); }, this}) {}
    void begin() { all_.hoppers[all_.next()]->caller_.call(); }

private:
    void hop() {
        native_hopper& there =
            *all_.hoppers[(all_.done + 2) % N]; // read before `all_` is handed on
        if (all_.arrived()) {
            there.caller_.call();
        }
    }

    scene_type& all_;
    typename Loop::caller caller_;
};

/// A task.
template <class Loop, std::size_t N>
class task_hopper {
public:
    using scene_type = scene<Loop, task_hopper, N>;

    task_hopper(Loop& loop, scene_type& all) : all_(all), executor_(loop.get()) {}
    void begin() { executor_.spawn(hop(all_)); }

private:
    static task<> hop(scene_type& all) {
        do {
            co_await all.hoppers[all.next()]->executor_.schedule();
        } while (all.arrived());
    }

    scene_type& all_;
    typename Loop::executor executor_;
};

template <class Loop, class Hopper, std::size_t N>
void hop(benchmark::State& state, std::uint64_t hops) {
    for ([[maybe_unused]] auto _ : state) {
        scene<Loop, Hopper, N> all{hops};
        std::barrier step(N);
        seconds elapsed{};
        const auto run = [&](std::size_t i) {
            Loop loop;
            {
                Hopper mine(loop, all);
                all.loops[i] = &loop;
                all.hoppers[i] = &mine;
                step.arrive_and_wait();
                const auto begin = steady::now();
                if (i == 0) {
                    mine.begin();
                }
                loop.run();
                if (i == 0) {
                    elapsed = steady::now() - begin;
                }
                step.arrive_and_wait(); // no call is under way
            }
        };
        {
            auto first = pinned_thread(0, [&] { run(0); });
            if constexpr (N == 2) {
                pinned_thread(1, [&] { run(1); });
            }
        }
        if (all.done != hops) {
            fail(state, "hops were lost");
        }
        report(state, elapsed, hops);
    }
}

template <class Loop>
void add_loop() {
    constexpr std::uint64_t between_threads = 20'000;
    constexpr std::uint64_t on_one_thread = 200'000;
    const std::string name(Loop::name);
    const std::string library = name.substr(0, name.find(','));
    const auto add = [](const std::string& full_name, auto run, std::uint64_t hops) {
        benchmark::RegisterBenchmark(full_name.c_str(), run, hops)->Apply(one_sample);
    };
    add("hop_between_threads/" + name, hop<Loop, native_hopper<Loop, 2>, 2>, between_threads);
    add("hop_between_threads/" + library + ", a task", hop<Loop, task_hopper<Loop, 2>, 2>,
        between_threads);
    add("hop_on_one_thread/" + name, hop<Loop, native_hopper<Loop, 1>, 1>, on_one_thread);
    add("hop_on_one_thread/" + library + ", a task", hop<Loop, task_hopper<Loop, 1>, 1>,
        on_one_thread);
}

/// Qt's event loops need it.
QCoreApplication& application() {
    static int count = 1;
    static char name[] = "exchange_bench";
    static std::array<char*, 2> arguments{name, nullptr};
    static QCoreApplication made(count, arguments.data());
    return made;
}

const bool registered = [] {
    application();
    add_loop<libuv_loop>();
    add_loop<glib_loop>();
    add_loop<qt_loop>();
    add_loop<libevent_loop>();
    add_loop<systemd_loop>();
    return true;
}();

} // namespace
} // namespace tryst::bench
