// SPDX-License-Identifier: MIT
// An Asio handler, tasks on an Asio executor and on an io_uring loop, and a fiber wait when the
// program calls `look`.
#include <tryst/asio.hpp>
#include <tryst/fiber.hpp>
#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>

#include <utility>

namespace {

using meeting = tryst::exchanger<int>;

asio::awaitable<void> handler(meeting& at) {
    auto got = co_await tryst::asio::wait(at.exchange(0));
    (void)got;
}

tryst::task<> task(meeting& at) {
    auto got = co_await at.exchange(0); // task
    (void)got;
}

tryst::task<int> guest(meeting& at, tryst::inplace_stop_token stop) {
    auto got = co_await at.exchange(0, stop); // guest
    co_return std::move(got).value_or(0);
}

tryst::task<> host(meeting& front, meeting& back) {
    const auto guest_at = [](meeting& at) {
        return [&at](tryst::inplace_stop_token stop) { return guest(at, stop); };
    };
    auto got = co_await tryst::when_any(guest_at(front), guest_at(back)); // host
    (void)got;
}

/// Where the debugger stops.
[[gnu::noinline]] void look() {
    asm volatile("");
}

} // namespace

int main() {
    meeting handlers;
    meeting tasks;
    meeting fibers;
    meeting front;
    meeting back;
    asio::io_context io;
    tryst::asio::task_executor loop(io);
    co_spawn(io, handler(handlers), asio::detached);
    loop.spawn(task(tasks));
    tryst::uring::context ring;
    ring.spawn(host(front, back));
    ring.run_until_idle();
    bool begun = false;
    boost::fibers::fiber fiber([&] {
        begun = true;
        (void)tryst::fiber::wait(fibers.exchange(0));
    });
    io.poll();
    while (!begun) {
        boost::this_fiber::yield();
    }
    boost::this_fiber::yield(); // the fiber has offered itself, and sleeps
    look();
    front.close(); // which ends the wait in the other one, too
    ring.run_until_idle();
    handlers.close();
    tasks.close();
    fibers.close();
    fiber.join();
    io.run();
}
