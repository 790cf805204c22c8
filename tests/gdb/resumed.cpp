// SPDX-License-Identifier: MIT
// Coroutines that have waited for something of tryst, and await something of another library, whose
// line is unknown, when the program calls `stop_here`.
#include <tryst/tryst.hpp>

#include <chrono>
#include <coroutine>

extern "C" [[gnu::noinline]] void stop_here() {
    asm volatile("" ::: "memory");
}

namespace {

using std::chrono_literals::operator""ms;
using tryst::task;
using meeting = tryst::exchanger<int>;

struct foreign {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> /*coroutine*/) const noexcept {}
    void await_resume() const noexcept {}
};

task<> nothing() {
    co_return;
}

task<> move_here() {
    co_await tryst::current_executor().schedule();
}

task<> after_schedule() {
    co_await tryst::current_executor().schedule();
    co_await foreign();
}

task<> after_task() {
    co_await nothing();
    co_await foreign();
}

task<> after_sleep() {
    co_await tryst::sleep_for(1ms);
    co_await foreign();
}

task<> after_exchange(meeting& at) {
    auto got = co_await at.exchange(1);
    (void)got;
    co_await foreign();
}

task<> after_join() {
    tryst::task_scope scope;
    scope.spawn(move_here());
    co_await scope.join();
    co_await foreign();
}

} // namespace

int main() {
    meeting at;
    tryst::run_loop loop;
    loop.spawn(after_schedule());
    loop.spawn(after_task());
    loop.spawn(after_sleep());
    loop.spawn(after_exchange(at));
    loop.spawn(after_exchange(at));
    loop.spawn(after_join());
    loop.run(tryst::sleep_for(2ms)); // which begins after the other sleep
    loop.run_until_idle();
    stop_here();
}
