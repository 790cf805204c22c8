// SPDX-License-Identifier: MIT
// A worker thread hands results to a task on GLib's main loop, the thread of a user interface.
#include <tryst/glib.hpp>
#include <tryst/tryst.hpp>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using results = tryst::synchronous_channel<std::string>;

tryst::task<> show(results& from, GMainLoop* loop) {
    for (;;) {
        const auto line = co_await from.receive(10s);
        if (!line) {
            break; // the worker has closed the channel, or takes too long
        }
        std::printf("%s\n", line->c_str()); // here a program would set the text of a label
    }
    g_main_loop_quit(loop);
}

int main() {
    const std::unique_ptr<GMainLoop, void (*)(GMainLoop*)> loop(g_main_loop_new(nullptr, FALSE),
                                                                g_main_loop_unref);
    results channel;
    tryst::glib::executor executor(g_main_loop_get_context(loop.get()));
    executor.spawn(show(channel, loop.get()));
    const std::jthread worker([&channel] {
        for (int i = 1; i != 4; ++i) {
            if (!tryst::sync_wait(channel.send("result " + std::to_string(i)))) {
                return;
            }
        }
        channel.close();
    });
    g_main_loop_run(loop.get());
}
