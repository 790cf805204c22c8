// SPDX-License-Identifier: MIT
// Three producers and two consumers on two threads swap full buffers for empty ones. Any producer
// pairs with any consumer. The program never copies a buffer, and allocates one per party.
#include <tryst/tryst.hpp>

#include <atomic>
#include <cstddef>
#include <iostream>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

namespace {

using buffer = std::vector<long>;
using meeting = tryst::red_blue_exchanger<buffer>;

constexpr long producers = 3;
constexpr long rounds = 10'000;

tryst::task<> produce(meeting& at, long first, std::atomic<long>& left) {
    buffer mine(100);
    for (long round = 0; round != rounds; ++round) {
        std::iota(mine.begin(), mine.end(), first + round * 100);
        mine = *co_await at.blue(std::move(mine));
    }
    if (--left == 0) {
        at.close(); // ends the consumers
    }
}

tryst::task<> consume(meeting& at, long& sum, tryst::run_loop& loop) {
    buffer mine(100);
    while (auto got = co_await at.red(std::move(mine))) {
        mine = *std::move(got);
        sum = std::accumulate(mine.begin(), mine.end(), sum);
    }
    loop.stop();
}

} // namespace

int main() {
    meeting at;
    std::atomic<long> left{producers};
    long sums[] = {0, 0};
    std::thread threads[2];
    for (std::size_t i = 0; i != 2; ++i) {
        threads[i] = std::thread([&, i] {
            tryst::run_loop loop;
            for (long p = static_cast<long>(i); p < producers; p += 2) {
                loop.spawn(produce(at, p * rounds * 100, left));
            }
            loop.spawn(consume(at, sums[i], loop));
            loop.run();
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    const long numbers = producers * rounds * 100;
    const bool all = sums[0] + sums[1] == numbers * (numbers - 1) / 2;
    std::cout << (all ? "all numbers arrived\n" : "numbers were lost or duplicated\n");
    return all ? 0 : 1;
}
