// SPDX-License-Identifier: MIT
// An Asio handler, a task on an Asio executor and a fiber wait when the program calls `look`.
#include <tryst/asio.hpp>
#include <tryst/fiber.hpp>
#include <tryst/tryst.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>

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

/// Where the debugger stops.
[[gnu::noinline]] void look() {
    asm volatile("");
}

} // namespace

int main() {
    meeting handlers;
    meeting tasks;
    meeting fibers;
    asio::io_context io;
    tryst::asio::task_executor loop(io);
    co_spawn(io, handler(handlers), asio::detached);
    loop.spawn(task(tasks));
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
    handlers.close();
    fibers.close();
    fiber.join();
    io.run();
}
