// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <csignal>
#include <iostream>
#include <stop_token>
#include <string>
#include <thread>

#include <unistd.h>

using jobs = tryst::channel<std::string>;

tryst::task<> work(jobs& queue, std::stop_token stop) {
    while (auto job = co_await queue.receive(stop)) {
        std::cout << *job << '\n';
        ::kill(::getpid(), SIGINT); // as Ctrl-C does
    }
    std::cout << "cleaned up\n";
}

int main() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr); // before other threads begin

    std::stop_source stop;
    std::jthread waits_for_signals([&] {
        int number = 0;
        sigwait(&signals, &number);
        stop.request_stop();
    });
    jobs queue(8);
    (void)queue.try_send("a job");
    tryst::run_loop loop;
    loop.run(work(queue, stop.get_token()));
}
