// SPDX-License-Identifier: MIT
// What docs/waiters.md shows, within a program.
#include <tryst/tryst.hpp>

#include <coroutine>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

tryst::task<> swap(tryst::exchanger<std::string>& ex, std::string mine, tryst::run_loop& loop) {
    auto got = co_await ex.exchange(std::move(mine));
    loop.stop(); // on this loop's thread, whichever party was the partner
}

void two_loops(tryst::exchanger<std::string>& ex) {
    tryst::run_loop here;
    tryst::run_loop there;
    here.spawn(swap(ex, "here", here));
    there.spawn(swap(ex, "there", there));
    std::thread thread([&] { there.run(); });
    here.run();
    thread.join();
}

tryst::task<int> sum(tryst::exchanger<int>& ex) {
    auto meet = [](tryst::exchanger<int>& at, int mine) -> tryst::task<int> {
        auto got = co_await at.exchange(mine);
        co_return got.value(); // throws a std::system_error if there is none
    };
    auto [a, b] = co_await tryst::when_all(meet(ex, 1), meet(ex, 2));
    co_return a + b;
}

void wait_on_threads(tryst::exchanger<int>& ex) {
    int theirs = 0;
    std::thread partner([&] { theirs = *tryst::sync_wait(ex.exchange(1)); });
    int mine = *tryst::sync_wait(ex.exchange(2));
    partner.join();

    int three = tryst::sync_wait(sum(ex)); // a task and all that it awaits
    if (theirs != 2 || mine != 1 || three != 3) {
        std::terminate();
    }
}

struct fire_and_forget {
    struct promise_type {
        fire_and_forget get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};

fire_and_forget meet(tryst::exchanger<int>& ex, int mine, int& theirs) {
    auto got = co_await ex.exchange(mine); // if it waits, its partner runs what follows
    theirs = got ? *got : 0;
}

int main() {
    tryst::exchanger<std::string> words;
    two_loops(words);
    tryst::exchanger<int> numbers;
    wait_on_threads(numbers);
    int first = 0;
    int second = 0;
    meet(numbers, 1, first);
    meet(numbers, 2, second);
    return first == 2 && second == 1 ? 0 : 1;
}
