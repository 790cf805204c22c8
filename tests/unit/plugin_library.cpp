// SPDX-License-Identifier: MIT
#include "plugin_library.hpp"

#include <tryst/detail/run/timer_thread.hpp>

#include <latch>

namespace {

using tryst::test::shared_objects;

tryst::task<> count(shared_objects& shared) {
    ++shared.count;
    co_return;
}

tryst::task<> count_in_scope(shared_objects& shared) {
    tryst::task_scope scope;
    scope.spawn(count(shared));
    co_await scope.join();
}

tryst::task<int> exchange(shared_objects& shared) {
    const auto got = co_await shared.at.exchange(1);
    co_return got ? *got : -1;
}

} // namespace

void try_in_plugin(tryst::exchanger<int, tryst::counted>& at, int times) {
    for (int i = 0; i != times; ++i) {
        (void)at.try_exchange(i);
    }
}

void use_timer_thread_in_plugin() {
    struct due_timer : tryst::timer_node {
        due_timer() {
            fire = [](timer_node* node) noexcept {
                static_cast<due_timer&>(*node).fired.count_down();
            };
        }
        std::latch fired{1};
    } timer;
    auto& thread = tryst::detail::timer_thread::instance();
    thread.arm(&timer);
    timer.fired.wait();
    thread.disarm(&timer);
    static tryst::timer_node never;
    never.deadline = tryst::timer_node::time_point::max();
    thread.arm(&never);
}

void request_stop_in_plugin(shared_objects& shared) {
    shared.stop.request_stop();
}

void fail_in_plugin(shared_objects& shared) {
    shared.error = shared.at.try_exchange(1).error();
}

void exchange_in_plugin(shared_objects& shared) {
    shared.count = tryst::sync_wait(shared.at.exchange(1)).value_or(-1);
}

void exchange_on_loop_of_plugin(shared_objects& shared) {
    tryst::run_loop loop;
    shared.count = loop.run(exchange(shared));
}

void spawn_in_plugin(shared_objects& shared) {
    shared.loop.spawn(count_in_scope(shared));
}

tryst::task<int>* make_task_in_plugin(shared_objects& shared) {
    return new tryst::task<int>(exchange(shared));
}
