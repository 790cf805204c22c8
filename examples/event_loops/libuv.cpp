// SPDX-License-Identifier: MIT
// A worker thread hands results to a task on a libuv loop. The loop returns after the last one.
#include <tryst/libuv.hpp>
#include <tryst/tryst.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using results = tryst::synchronous_channel<std::string>;

tryst::task<> show(results& from) {
    for (;;) {
        const auto line = co_await from.receive(10s);
        if (!line) {
            break; // the worker has closed the channel, or takes too long
        }
        std::printf("%s\n", line->c_str());
    }
}

int main() {
    uv_loop_t loop;
    uv_loop_init(&loop);
    {
        results channel;
        tryst::libuv::executor executor(&loop);
        executor.spawn(show(channel));
        const std::jthread worker([&channel] {
            for (int i = 1; i != 4; ++i) {
                if (!tryst::sync_wait(channel.send("result " + std::to_string(i)))) {
                    return;
                }
            }
            channel.close();
        });
        uv_run(&loop, UV_RUN_DEFAULT); // until `show` has finished
    }
    uv_run(&loop, UV_RUN_DEFAULT); // closes the handles of the executor
    uv_loop_close(&loop);
}
