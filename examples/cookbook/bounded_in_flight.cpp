// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>

using namespace std::chrono_literals;
struct place {};
using semaphore = tryst::channel<place>; // has as many places as its limit

struct counts {
    int now = 0;
    int most = 0;
    int all = 0;
};

tryst::task<> download(semaphore& taken, counts& running) {
    running.most = std::max(running.most, ++running.now);
    co_await tryst::sleep_for(1ms);
    --running.now;
    ++running.all;
    (void)taken.try_receive(); // gives its place back
}

tryst::task<> run() {
    semaphore taken(3);
    counts running;
    tryst::task_scope downloads;
    for (int i = 0; i != 10; ++i) {
        auto got = co_await taken.send(place()); // waits while three are in flight
        if (got) {
            downloads.spawn(download(taken, running));
        }
    }
    co_await downloads.join();
    std::cout << running.all << " downloads, at most " << running.most << " at a time\n";
}

int main() {
    tryst::run_loop().run(run());
}
