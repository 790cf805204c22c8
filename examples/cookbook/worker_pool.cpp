// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

using jobs = tryst::channel<int>;

void work(jobs& queue, std::atomic<int>& sum) {
    while (auto job = tryst::sync_wait(queue.receive())) {
        sum += *job; // a real worker computes for longer
    }
}

tryst::task<> order(jobs& queue) {
    for (int i = 1; i <= 100; ++i) {
        auto sent = co_await queue.send(i); // waits while the queue is full
        if (!sent) {
            co_return;
        }
    }
    queue.close(); // the workers finish what is queued
}

int main() {
    jobs queue(16);
    std::atomic<int> sum = 0;
    std::vector<std::jthread> workers;
    for (int i = 0; i != 4; ++i) {
        workers.emplace_back([&] { work(queue, sum); });
    }
    tryst::run_loop loop;
    loop.run(order(queue));
    workers.clear(); // joins them
    std::cout << "sum " << sum << '\n';
}
