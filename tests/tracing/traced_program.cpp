// SPDX-License-Identifier: MIT
// The program that the tests of the probes look into:
//
//   traced_program once    six waits that end in all ways, in a fixed order, on one thread
//   traced_program long    waits of 20 ms in "lobby", until its input ends
//   traced_program crowd   100 such waits at once, each ended by a partner that finds it
//   traced_program         waits nowhere, but the compiler has seen every step
//
// `once`, `long` and `crowd` say first what they are about to do: its name.
#include <tryst/tryst.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stop_token>
#include <thread>
#include <utility>

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h> // the program may have probes of its own
#define APP_PROBE(name) STAP_PROBE(app, name)
#else
#define APP_PROBE(name) static_cast<void>(0)
#endif

namespace {

using namespace std::chrono_literals;

tryst::task<> wait(tryst::exchanger<int>& ex) {
    (void)co_await ex.exchange(1);
}
tryst::task<> wait_for(tryst::exchanger<int>& ex, std::chrono::milliseconds patience) {
    (void)co_await ex.exchange(1, patience);
}
tryst::task<> wait_with(tryst::exchanger<int>& ex, std::stop_token stop) {
    (void)co_await ex.exchange(1, std::move(stop));
}
tryst::task<> wait_for_either(tryst::exchanger<int>& one, tryst::exchanger<int>& other) {
    (void)co_await tryst::select(one.exchange(1), other.exchange(1));
}
tryst::task<> act_later(auto action) {
    co_await tryst::current_executor().schedule(); // after the party has begun to wait
    action();
}

/// Runs a party until it waits, then `action`, then both to their end.
void end_by(tryst::task<> party, auto action) {
    (void)tryst::sync_wait(tryst::when_all(std::move(party), act_later(std::move(action))));
}

void once() {
    tryst::exchanger<int> lobby;
    tryst::exchanger<int> office;
    tryst::exchanger<int> nameless;
    lobby.set_name("lobby");
    office.set_name("office");
    const auto meet_in = [](tryst::exchanger<int>& ex) {
        return [&ex] { (void)ex.try_exchange(2); };
    };
    std::stop_source stop;
    end_by(wait(lobby), meet_in(lobby));
    end_by(wait_for(office, 1ms), [] {});
    end_by(wait_with(office, stop.get_token()), [&] { stop.request_stop(); });
    end_by(wait(nameless), meet_in(nameless));
    end_by(wait_for_either(lobby, office), meet_in(office));
    end_by(wait(lobby), [&] { lobby.close(); });
    (void)office.try_exchange(1); // no partner, and no wait
}

void wait_long() {
    tryst::exchanger<int> lobby;
    tryst::exchanger<int> office;
    lobby.set_name("lobby");
    office.set_name("office");
    std::atomic<bool> over{false};
    std::thread other([&] {
        while (!over.load(std::memory_order_relaxed)) {
            (void)tryst::sync_wait(lobby.exchange(1, 20ms));
            (void)tryst::sync_wait(office.exchange(1, 1ms));
        }
    });
    while (std::getchar() != EOF) {
    }
    over.store(true, std::memory_order_relaxed);
    other.join();
}

void wait_in_a_crowd() {
    tryst::synchronous_channel<int> lobby;
    lobby.set_name("lobby");
    const auto receive = [](tryst::synchronous_channel<int>& from) -> tryst::task<> {
        (void)co_await from.receive();
    };
    const auto send = [](tryst::synchronous_channel<int>& to) -> tryst::task<> {
        (void)co_await to.send(1);
    };
    std::atomic<bool> over{false};
    std::thread other([&] {
        tryst::run_loop loop;
        while (!over.load(std::memory_order_relaxed)) {
            for (int i = 0; i != 100; ++i) {
                loop.spawn(receive(lobby));
            }
            loop.run(tryst::sleep_for(20ms));
            for (int i = 0; i != 100; ++i) {
                loop.spawn(send(lobby));
            }
            loop.run_until_idle();
        }
    });
    while (std::getchar() != EOF) {
    }
    over.store(true, std::memory_order_relaxed);
    other.join();
}

/// Instantiates what contains the steps of a wait list.
template <tryst::order Order>
void use_two_colours() {
    tryst::red_blue_exchanger<int, int, Order> ex;
    (void)ex.try_red(1);
    (void)tryst::sync_wait(ex.blue(1, 0ms));
}

} // namespace

int main(int count, char** arguments) {
    const char* const what = count > 1 ? arguments[1] : "nothing";
    std::puts(what);
    std::fflush(stdout);
    APP_PROBE(begin);
    if (std::strcmp(what, "once") == 0) {
        once();
    } else if (std::strcmp(what, "long") == 0) {
        wait_long();
    } else if (std::strcmp(what, "crowd") == 0) {
        wait_in_a_crowd();
    } else {
        use_two_colours<tryst::order::fifo>();
        use_two_colours<tryst::order::lifo>();
    }
}
