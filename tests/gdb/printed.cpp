// SPDX-License-Identifier: MIT
// Objects of the public types in known states. The test stops in `stop_here` and prints them.
#include <tryst/tryst.hpp>

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

extern "C" [[gnu::noinline]] void stop_here() {
    asm volatile("" ::: "memory");
}

namespace {

struct parcel {
    int weight = 3;
};

/// A coroutine on no executor: it is resumed inline.
struct detached {
    struct promise_type {
        detached get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
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

template <class Exchanger>
tryst::task<> swap(Exchanger& ex) {
    auto got = co_await ex.exchange(1);
    static_cast<void>(got);
}
tryst::task<> send(tryst::synchronous_channel<int>& channel, int item) {
    auto sent = co_await channel.send(item);
    static_cast<void>(sent);
}
template <tryst::order Order>
tryst::task<> arrive_red(tryst::red_blue_exchanger<int, char, Order>& ex) {
    auto got = co_await ex.red(1);
    static_cast<void>(got);
}
template <tryst::order Order>
tryst::task<> arrive_blue(tryst::red_blue_exchanger<int, char, Order>& ex) {
    auto got = co_await ex.blue('b');
    static_cast<void>(got);
}
detached swap_inline(tryst::exchanger<int>& ex) {
    auto got = co_await ex.exchange(2);
    static_cast<void>(got);
}
tryst::task<int> fail() {
    throw std::runtime_error("no result");
    co_return 0;
}
tryst::task<int> seven() {
    co_return 7;
}
tryst::task<int> wait_for_partner(tryst::exchanger<int>& ex) {
    auto got = co_await ex.exchange(3); // waits-here
    co_return std::move(got).value_or(0);
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

struct printed_objects {
    tryst::run_loop loop;
    tryst::run_loop idle_loop;
    tryst::loop_executor<idle_wake> user_loop;
    own_pool pool;

    tryst::exchanger<int> empty{2};
    tryst::exchanger<int> busy{0};
    tryst::exchanger<int> inline_busy{0};
    tryst::exchanger<int> closed{0};
    tryst::exchanger<int> lonely{0};
    tryst::counters counts{3};
    tryst::exchanger<int, tryst::counted> counted{0, counts};
    tryst::counters no_counts{2};
    tryst::red_blue_exchanger<int, char> queue;
    tryst::red_blue_exchanger<int, char, tryst::order::lifo> stack{3};
    tryst::synchronous_channel<int> channel;

    tryst::exchange_result<int> exchanged{7};
    tryst::exchange_result<parcel, std::string> failed{tryst::exchange_errc::timed_out, "mine"};
    tryst::exchange_result<void, int> sent;
    tryst::exchange_errc errc = tryst::exchange_errc::no_partner;
    tryst::exchange_errc no_error{};
    tryst::exchange_errc unknown_error = static_cast<tryst::exchange_errc>(77);
    tryst::order order = tryst::order::lifo;

    tryst::task<int> no_task;
    tryst::task<int> new_task = seven();
    tryst::task<int> done_task = seven();
    tryst::task<int> failed_task = fail();
    tryst::task<int> started_task = wait_for_partner(lonely);
    tryst::join_handle<> no_handle;
    tryst::join_handle<> handle;
    tryst::executor_ref no_executor;
    tryst::executor_ref on_loop = loop.executor();
    tryst::executor_ref on_pool{&pool, &own_pool::vtable};
    tryst::inplace_stop_source source;
    tryst::inplace_stop_source requested;
    tryst::inplace_stop_token no_token;
    tryst::inplace_stop_token token = source.get_token();
    tryst::task_scope scope{loop};
    tryst::statistics nothing_happened;
    tryst::statistics happened{.arrivals = 5, .exchanges = 2, .waiting = 1, .longest_wait = 1500us};

    printed_objects() : sent(tryst::detail::nothing()) {}
};

printed_objects* objects;
corrupt<tryst::exchanger<int>> bad_exchanger(0xee);
corrupt<tryst::synchronous_channel<int>> bad_channel(0);
corrupt<tryst::task<int>> bad_task(0x41);
corrupt<tryst::run_loop> bad_loop(0xee);
corrupt<tryst::task_scope> bad_scope(0x7f);
corrupt<tryst::executor_ref> bad_executor(0x11);
corrupt<tryst::exchange_result<int>> bad_result(0xee);
corrupt<tryst::join_handle<>> bad_handle(0x11);
corrupt<tryst::inplace_stop_source> bad_source(0xee);
corrupt<tryst::counters> bad_counters(0xee);
corrupt<tryst::counters> lost_counters(0);

/// A list of nodes that has no end.
void make_looped_scope(std::byte* memory, tryst::executor_ref executor) {
    auto* const scope = new (memory) tryst::task_scope(executor);
    using promise = tryst::detail::scope_child::promise_type;
    static std::byte child[sizeof(promise)];
    // The scope keeps its executor first, then the first child.
    void* const first = child;
    std::memcpy(reinterpret_cast<std::byte*>(scope) + sizeof executor, &first, sizeof first);
    auto* const node = reinterpret_cast<promise*>(child);
    node->following = node;
}
corrupt<tryst::task_scope> endless_scope(0);

int main() {
    printed_objects all;
    objects = &all;
    all.busy.set_name("lobby");
    for (int i = 0; i != 3; ++i) {
        all.loop.spawn(send(all.channel, i));
        all.loop.spawn(arrive_red(all.queue));
        all.loop.spawn(arrive_blue(all.stack));
    }
    all.loop.spawn(swap(all.busy));
    static_cast<void>(all.counted.try_exchange(1));
    for (int i = 0; i != 3; ++i) {
        all.loop.spawn(swap(all.counted)); // two of them meet
    }
    all.handle = all.loop.spawn_future(swap(all.empty));
    all.loop.run(keep_ready(all.done_task));
    all.loop.run(keep_ready(all.failed_task));
    all.loop.spawn(keep_ready(all.started_task));
    all.loop.run_until_idle();
    swap_inline(all.inline_busy);
    all.closed.close();
    all.requested.request_stop();
    const auto stop_nothing = [] {};
    tryst::inplace_stop_callback callback(all.token, stop_nothing);
    all.idle_loop.spawn(swap(all.empty));
    all.scope.spawn(swap(all.empty));
    make_looped_scope(endless_scope.bytes, all.on_loop);

    auto operation = all.queue.red(5, 1h);
    auto sleep = tryst::sleep_for(1500ms);
    auto selection = tryst::select(all.closed.exchange(1), all.channel.send(2));
    tryst::exchanger<int> quiet{0};
    auto selected = tryst::try_select(quiet.exchange(1), all.queue.blue('c'));
    std::vector<tryst::exchanger<int>*> doors{&quiet};
    auto from = tryst::sync_wait(tryst::select_from(doors, [&](auto* door) {
        door->close();
        return door->exchange(1);
    }));
    tryst::run_loop busy_loop;
    auto any_of = busy_loop.run(tryst::when_any([](auto) -> tryst::task<int> { co_return 1; },
                                                [](auto) -> tryst::task<char> { co_return 'c'; }));
    // References keep them in memory.
    auto* volatile of_operation = &operation;
    auto* volatile of_sleep = &sleep;
    auto* volatile of_selection = &selection;
    auto* volatile of_selected = &selected;
    auto* volatile of_from = &from;
    auto* volatile of_any = &any_of;
    auto* volatile of_callback = &callback;
    static_cast<void>(of_operation), static_cast<void>(of_sleep), static_cast<void>(of_selection);
    static_cast<void>(of_selected), static_cast<void>(of_from), static_cast<void>(of_any);
    static_cast<void>(of_callback);
    stop_here();
    all.busy.close();
}
