// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <iostream>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

using buffer = std::vector<int>;
using meeting = tryst::exchanger<buffer>;

tryst::task<> fill(meeting& at) {
    buffer mine(1000);
    for (int round = 0; round != 100; ++round) {
        std::iota(mine.begin(), mine.end(), 0);
        auto empty = co_await at.exchange(std::move(mine));
        if (!empty) {
            co_return;
        }
        mine = *std::move(empty);
    }
    at.close();
}

tryst::task<> add_up(meeting& at, long& sum) {
    buffer mine(1000);
    while (auto full = co_await at.exchange(std::move(mine))) {
        mine = *std::move(full);
        sum = std::accumulate(mine.begin(), mine.end(), sum);
    }
}

int main() {
    meeting at;
    long sum = 0;
    std::jthread filler([&] { tryst::sync_wait(fill(at)); });
    tryst::sync_wait(add_up(at, sum));
    std::cout << "sum " << sum << '\n';
}
