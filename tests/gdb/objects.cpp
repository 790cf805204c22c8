// SPDX-License-Identifier: MIT
// Objects of the public types in known states, and a party of every kind that waits. The test looks
// at them when the program calls `stop_here`.
#pragma GCC diagnostic ignored "-Wshadow" // of the objects below, by names in headers
#include "support/bare_coroutine.hpp"
#include <tryst/tryst.hpp>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

extern "C" [[gnu::noinline]] void stop_here() {
    asm volatile("" ::: "memory");
}

namespace {

using meeting = tryst::exchanger<int>;
using counted_meeting = tryst::exchanger<int, tryst::counted>;
using numbers_channel = tryst::synchronous_channel<int>;
using buffered_channel = tryst::channel<int>;
struct tenfold {
    std::size_t operator()(int item) const noexcept { return static_cast<std::size_t>(item) * 10; }
};
using weighted_channel = tryst::channel<int, tryst::weighted<tenfold>>;
template <tryst::order Order = tryst::order::fifo>
using coloured = tryst::red_blue_exchanger<int, char, Order>;

struct parcel {
    int weight = 3;
};

struct idle_wake {
    explicit idle_wake(tryst::loop_turns& /*turns*/) {}
    void wake() noexcept {}
};

struct own_pool {
    static void post(void* /*context*/, tryst::executor_node* node) noexcept { node->run(node); }
    static const tryst::executor_vtable vtable;
};
const tryst::executor_vtable own_pool::vtable{.post = own_pool::post};

struct rooms {
    meeting first;
    std::unique_ptr<meeting> second = std::make_unique<meeting>();
};

template <class Exchanger>
tryst::task<> swap(Exchanger& at) {
    auto got = co_await at.exchange(1); // swap
    (void)got;
}
tryst::task<> swap_or_stop(meeting& at, std::stop_token stop) {
    auto got = co_await at.exchange(0, stop); // swap-or-stop
    (void)got;
}
tryst::task<> swap_for_an_hour(meeting& at) {
    auto got = co_await at.exchange(0, 1h); // swap-for-an-hour
    (void)got;
}
tryst::test::detached_coroutine swap_inline(meeting& at) {
    auto got = co_await at.exchange(0); // swap-inline
    (void)got;
}
tryst::task<> swap_twice(meeting& one, meeting& other) {
    co_await tryst::when_all(swap(one), swap(other)); // swap-twice
}
tryst::task<> one_of_two(meeting& swaps, numbers_channel& numbers) {
    auto got = co_await tryst::select(swaps.exchange(0), numbers.receive()); // one-of-two
    (void)got;
}
template <class Channel>
tryst::task<> send(Channel& to, int item) {
    auto sent = co_await to.send(item);
    (void)sent;
}
tryst::task<> take(buffered_channel& from) {
    auto got = co_await from.receive();
    (void)got;
}
tryst::task<> get(tryst::future<int>& reply) {
    auto got = co_await reply.get();
    (void)got;
}
template <tryst::order Order>
tryst::task<> arrive_red(coloured<Order>& at) {
    auto got = co_await at.red(1);
    (void)got;
}
template <tryst::order Order>
tryst::task<> arrive_blue(coloured<Order>& at) {
    auto got = co_await at.blue('b'); // blue
    (void)got;
}
tryst::task<> rest() {
    co_await tryst::sleep_for(1h); // rest
}
tryst::task<int> seven() {
    co_return 7;
}
tryst::task<int> fail() {
    throw std::runtime_error("no result");
    co_return 0;
}
tryst::task<int> answer(meeting& at) {
    auto got = co_await at.exchange(0); // answer
    co_return std::move(got).value_or(0);
}
tryst::task<> ask(tryst::run_loop& on, meeting& at) {
    auto work = on.spawn_future(answer(at));
    const int got = co_await work; // ask
    (void)got;
}
tryst::task<> keep_ready(tryst::task<int>& work) {
    co_await work.when_ready();
}

/// Filled with bytes of no meaning, or with a pointer to memory that refers to itself.
template <class T>
struct corrupt {
    alignas(T) std::byte bytes[sizeof(T)];
    T* as = reinterpret_cast<T*>(bytes);

    explicit corrupt(int byte) { std::memset(bytes, byte, sizeof bytes); }
};

} // namespace

tryst::run_loop loop;
tryst::run_loop idle;
tryst::loop_executor<idle_wake> user_loop;
own_pool pool;

meeting busy{0};
meeting with_arena{2};
meeting lone{0};
meeting lonely{0};
meeting closed{0};
meeting empty{0};
meeting stoppable;
meeting timed;
meeting swaps;
meeting asked;
meeting scoped;
rooms both;
meeting* none = nullptr;
tryst::counters counts{3};
tryst::counters no_counts{2};
counted_meeting counted{0, counts};
counted_meeting threads;
counted_meeting patient_threads;
coloured<> queue;
coloured<> crowd;
coloured<tryst::order::lifo> stack{3};
numbers_channel channel;
numbers_channel numbers;
numbers_channel watched;
numbers_channel also_watched;
tryst::case_set<int, tryst::receive_case<numbers_channel>> away;
tryst::case_set<int, tryst::receive_case<numbers_channel>> awaited;
buffered_channel buffered(2);
buffered_channel drained(0);
weighted_channel heavy(tryst::unlimited);

tryst::future<int> no_reply;
tryst::future<int> open_reply;
tryst::future<int> awaited_reply;
tryst::future<int> full_reply;
tryst::future<int> taken_reply;
tryst::promise<int> open_promise = open_reply.get_promise();
tryst::promise<int> awaited_promise = awaited_reply.get_promise();
tryst::promise<int> set_promise = full_reply.get_promise();

tryst::exchange_result<int> exchanged{7};
tryst::exchange_result<parcel, std::string> failed{tryst::exchange_errc::timed_out, "mine"};
tryst::exchange_result<void, int> sent{tryst::detail::nothing()};
tryst::exchange_errc errc = tryst::exchange_errc::no_partner;
tryst::exchange_errc no_error{};
tryst::exchange_errc unknown_error = static_cast<tryst::exchange_errc>(77);
tryst::order order = tryst::order::lifo;
tryst::statistics nothing_happened;
tryst::statistics happened{.arrivals = 5, .exchanges = 2, .waiting = 1, .longest_wait = 1500us};

tryst::task<int> no_task;
tryst::task<int> new_task = seven();
tryst::task<int> done_task = seven();
tryst::task<int> failed_task = fail();
tryst::task<int> started_task = answer(lonely);
// clang describes the states of a join handle only if one is used before.
auto join_state = tryst::detail::handshake::state::running;
tryst::join_handle<> no_handle;
tryst::join_handle<> handle;
tryst::executor_ref no_executor;
tryst::executor_ref on_loop = loop.executor();
tryst::executor_ref on_pool{&pool, &own_pool::vtable};
tryst::inplace_stop_source source;
tryst::inplace_stop_source requested;
tryst::inplace_stop_token no_token;
tryst::inplace_stop_token token = source.get_token();
tryst::inplace_stop_callback callback(token, [] {});
tryst::task_scope scope{loop};

auto operation = queue.red(5, 1h);
auto sleeping = tryst::sleep_for(1500ms);
auto selection = tryst::select(closed.exchange(1), channel.send(2));
auto selected = [] {
    for (int i = 0; i != 3; ++i) {
        loop.spawn(arrive_red(queue));
    }
    loop.run_until_idle();
    return tryst::try_select(empty.exchange(1), queue.blue('c'));
}();
std::vector<meeting*> doors{&closed};
auto from = tryst::sync_wait(tryst::select_from(doors, [](auto* door) {
    door->close();
    return door->exchange(1);
}));
auto any_of = loop.run(tryst::when_any([](auto) -> tryst::task<int> { co_return 1; },
                                       [](auto) -> tryst::task<char> { co_return 'c'; },
                                       [](auto stop) { return empty.exchange(5, stop); }));

corrupt<meeting> bad_exchanger(0xee);
corrupt<numbers_channel> bad_channel(0);
corrupt<tryst::future<int>> bad_future(0xee);
corrupt<tryst::task<int>> bad_task(0x41);
corrupt<tryst::run_loop> bad_loop(0xee);
corrupt<tryst::task_scope> bad_scope(0x7f);
corrupt<tryst::executor_ref> bad_executor(0x11);
corrupt<tryst::exchange_result<int>> bad_result(0xee);
corrupt<tryst::join_handle<>> bad_handle(0x11);
corrupt<tryst::inplace_stop_source> bad_source(0xee);
corrupt<tryst::counters> bad_counters(0xee);
corrupt<tryst::counters> lost_counters(0);
corrupt<tryst::task_scope> endless_scope(0);

/// A list of nodes that has no end.
void make_endless_scope() {
    auto* const made = new (endless_scope.bytes) tryst::task_scope(on_loop);
    using task = tryst::detail::spawned_task;
    static std::byte child[sizeof(task)];
    // The scope keeps its executor first, then the first task.
    void* const first = child;
    std::memcpy(reinterpret_cast<std::byte*>(made) + sizeof on_loop, &first, sizeof first);
    auto* const node = reinterpret_cast<task*>(child);
    node->following = node;
}

tryst::task<> any_of_set() {
    auto got = co_await awaited.next();
    (void)got;
}

int main() {
    busy.set_name("lobby");
    buffered.set_name("queue");
    (void)heavy.try_send(7);
    heavy.close();
    (void)set_promise.set(7);
    (void)taken_reply.get_promise(); // is dropped
    requested.request_stop();
    make_endless_scope();
    loop.run(keep_ready(done_task));
    loop.run(keep_ready(failed_task));
    (void)counted.try_exchange(1);

    std::stop_source stop;
    std::thread waits([] {
        (void)tryst::sync_wait(threads.exchange(0)); // thread
    });
    std::thread waits_for_an_hour([] {
        (void)tryst::sync_wait(patient_threads.exchange(0, 1h)); // patient-thread
    });
    swap_inline(lone);
    for (int i = 0; i != 3; ++i) {
        loop.spawn(swap(counted)); // two of them meet
        loop.spawn(send(channel, i));
        loop.spawn(send(buffered, i));
    }
    for (int i = 0; i != 2; ++i) {
        loop.spawn(arrive_blue(stack));
        loop.spawn(take(drained));
    }
    loop.spawn(get(awaited_reply));
    loop.spawn(swap(busy));
    loop.spawn(swap_or_stop(stoppable, stop.get_token()));
    loop.spawn(swap_for_an_hour(timed));
    loop.spawn(one_of_two(swaps, numbers));
    away.add(watched.receive(), 1);
    (void)away.try_next();
    awaited.add(also_watched.receive(), 1);
    loop.spawn(any_of_set());
    loop.spawn(rest());
    loop.spawn(swap_twice(both.first, *both.second));
    loop.spawn(ask(loop, asked));
    loop.spawn(keep_ready(started_task));
    scope.spawn(swap(scoped));
    handle = loop.spawn_future(swap(with_arena));
    idle.spawn(swap(busy));
    loop.run_until_idle();
    while (threads.stats().waiting != 1 || patient_threads.stats().waiting != 1) {
        std::this_thread::yield();
    }
    stop_here();
    for (int i = 0; i != 70; ++i) { // more than a segment of the wait list
        loop.spawn(arrive_red(crowd));
    }
    loop.run_until_idle();
    stop_here();
    threads.close();
    patient_threads.close();
    waits.join();
    waits_for_an_hour.join();
}
