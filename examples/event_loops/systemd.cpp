// SPDX-License-Identifier: MIT
// A service on sd-event: a task waits for jobs from other threads, and exits after an idle time.
#include <tryst/systemd.hpp>
#include <tryst/tryst.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using jobs = tryst::synchronous_channel<std::string>;

tryst::task<> serve(jobs& from, sd_event* loop) {
    for (auto patience = 10'000ms;; patience = 50ms) {
        const auto job = co_await from.receive(patience);
        if (!job) {
            std::printf("%s\n", job.error().message().c_str());
            break;
        }
        std::printf("%s\n", job->c_str());
    }
    sd_event_exit(loop, 0);
}

int main() {
    sd_event* loop = nullptr;
    if (sd_event_new(&loop) < 0) {
        return 1;
    }
    int status = 0;
    {
        jobs channel;
        tryst::systemd::executor executor(loop);
        executor.spawn(serve(channel, loop));
        const std::jthread client([&channel] {
            if (!tryst::sync_wait(channel.send("a job"))) {
                std::printf("refused\n");
            }
        });
        status = sd_event_loop(loop);
    }
    sd_event_unref(loop);
    return status;
}
