// SPDX-License-Identifier: MIT
// Five philosophers share five forks, and each needs two forks for a meal. A philosopher who lacks
// a fork offers the other one to his neighbour meanwhile, unless it is clean. So they never block
// each other (Chandy and Misra, "The Drinking Philosophers Problem", 1984).
#include <tryst/tryst.hpp>

#include <atomic>
#include <iostream>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

constexpr int seats = 5;
constexpr int meals_each = 1000;
struct utensil {};
using maybe_fork = std::unique_ptr<utensil>;
using place = tryst::exchanger<maybe_fork>; // of two neighbours, one of whom has the fork

struct hand {
    place* at;
    maybe_fork held;
    bool is_clean = false; // the fork has not been used since it came

    auto exchange() noexcept { return at->exchange(std::move(held)); }
    void take(tryst::exchange_result<maybe_fork> result) {
        is_clean = result ? *result != nullptr : is_clean;
        held = result ? *std::move(result) : std::move(result).returned();
    }
};

struct dinner {
    std::atomic<int> meals{0};
    std::atomic<int> forks{0}; // at the end
    std::stop_source end;
};

tryst::task<> dine(hand left, hand right, dinner& all) {
    int mine = 0;
    while (!all.end.stop_requested() && (mine != meals_each || left.held || right.held)) {
        const bool hungry = mine != meals_each;
        if (hungry && left.held && right.held) {
            left.is_clean = right.is_clean = false;
            ++mine;
            if (++all.meals == seats * meals_each) {
                all.end.request_stop();
            }
            auto got = tryst::try_select(left.exchange(), right.exchange()); // does one wait?
            left.take(std::move(got.get<0>()));
            right.take(std::move(got.get<1>()));
            continue;
        }
        std::vector<hand*> hands{&left, &right}; // but those that keep a fork, or need none
        std::erase_if(hands, [hungry](const hand* each) {
            return each->held ? hungry && each->is_clean : !hungry;
        });
        auto offer = [](hand* each) { return each->exchange(); };
        auto got = co_await tryst::select_from(hands, offer, all.end.get_token());
        for (std::size_t i = 0; i != hands.size(); ++i) {
            hands[i]->take(got[i]); // the neighbour's fork, or my own is back
        }
    }
    all.forks += (left.held ? 1 : 0) + (right.held ? 1 : 0);
}

int main() {
    place at[seats];
    dinner all;
    std::vector<std::jthread> threads;
    for (int i = 0; i != seats; ++i) { // the first has two forks, and the last has none
        hand left{&at[i], i == 0 ? std::make_unique<utensil>() : nullptr};
        hand right{&at[(i + 1) % seats], i + 1 != seats ? std::make_unique<utensil>() : nullptr};
        threads.emplace_back([&all, left = std::move(left), right = std::move(right)]() mutable {
            tryst::sync_wait(dine(std::move(left), std::move(right), all));
        });
    }
    threads.clear(); // waits for all
    std::cout << all.meals << " meals, " << all.forks << " forks\n";
}
