// SPDX-License-Identifier: MIT
// One coroutine for each reason why a program hangs. docs/hangs.md shows what gdb says about them
// when the program calls `compute`.
#include "support/bare_coroutine.hpp"
#include <tryst/tryst.hpp>

#include <stop_token>

namespace {

using room = tryst::exchanger<int>;
using buffer_room = tryst::red_blue_exchanger<int>;

tryst::task<> visit(room& at) {
    auto got = co_await at.exchange(1);
    (void)got;
}

tryst::task<> fill(buffer_room& at) {
    auto got = co_await at.red(1);
    (void)got;
}

tryst::task<> listen(room& at, std::stop_token stop) {
    auto got = co_await at.exchange(1, stop);
    (void)got;
}

[[gnu::noinline]] void compute() {
    asm volatile("");
}

tryst::task<> calculate() {
    compute();
    co_return;
}

tryst::test::detached_coroutine lose(room& at) {
    auto got = co_await at.exchange(1);
    (void)got;
}

} // namespace

int main() {
    room lobby;
    buffer_room buffers;
    room patient;
    room forgotten;
    std::stop_source source;
    tryst::run_loop idle;
    tryst::run_loop loop;
    idle.spawn(visit(lobby));
    loop.spawn(visit(lobby));
    loop.spawn(fill(buffers));
    loop.spawn(fill(buffers));
    loop.spawn(listen(patient, source.get_token()));
    lose(forgotten);
    loop.run_until_idle();
    loop.spawn(calculate());
    loop.run_until_idle();
    forgotten.close();
}
