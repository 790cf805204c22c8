// SPDX-License-Identifier: MIT
// An Asio handler, tasks on an Asio executor and on an io_uring loop, and a fiber wait when the
// program calls `stop_here`. Objects of the adapters are in known states.
#pragma GCC diagnostic ignored "-Wshadow" // of the objects below, by names in headers
#include <tryst/asio.hpp>
#include <tryst/fiber.hpp>
#include <tryst/libuv.hpp>
#include <tryst/redis.hpp>
#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <hub.hpp> // so that its members are described
#include <unistd.h>
#include <uv.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <system_error>
#include <utility>

extern "C" [[gnu::noinline]] void stop_here() {
    asm volatile("" ::: "memory");
}

namespace {

using meeting = tryst::exchanger<int>;

asio::awaitable<void> handler(meeting& at) {
    auto got = co_await tryst::asio::wait(at.exchange(0)); // handler
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

tryst::task<> host(meeting& one, meeting& other) {
    const auto guest_at = [&](tryst::inplace_stop_token stop) { return guest(one, stop); };
    const auto swap = [&](tryst::inplace_stop_token stop) { return other.exchange(0, stop); };
    auto got = co_await tryst::when_any(guest_at, swap); // host
    (void)got;
}

tryst::task<> porter(std::array<meeting, 2>& doors) {
    const auto swap = [](meeting& at, tryst::inplace_stop_token stop) {
        return at.exchange(0, stop);
    };
    auto got = co_await tryst::when_any_from(doors, swap); // porter
    (void)got;
}

tryst::task<> read_byte(tryst::uring::context& loop, int file) {
    std::array<std::byte, 1> got{};
    auto done = co_await loop.read(file, got, tryst::uring::current_position); // read
    (void)done;
}

tryst::task<> nothing() {
    co_return;
}

} // namespace

asio::io_context context;
tryst::asio::task_executor asio_executor(context);
tryst::executor_ref on_asio = asio_executor.executor();
tryst::libuv::executor uv_executor(uv_default_loop());
tryst::executor_ref on_libuv = uv_executor.executor();
tryst::uring::buffer_pool pool(4, 4096);
tryst::uring::buffer buffer = pool.acquire();
tryst::uring::buffer no_buffer;
tryst::uring::descriptor file(1);
tryst::uring::descriptor no_file;
tryst::uring::result<int> opened("open", 5);
tryst::uring::result<int> not_opened("open", std::make_error_code(std::errc::permission_denied));
tryst::uring::result<> ended("close");
tryst::uring::limits no_limits;
tryst::uring::limits
    some_limits(tryst::uring::limits::clock::time_point(std::chrono::milliseconds(1500)));
asio::io_context redis;
tryst::redis::connection begun(context);
tryst::redis::connection unreachable(redis, {.hosts = {{.path = "/nowhere"}}});
tryst::redis::connection closed_connection(context);

int main() {
    meeting handlers;
    meeting tasks;
    meeting fibers;
    meeting front;
    meeting back;
    std::array<meeting, 2> doors;
    asio::io_context io;
    tryst::asio::task_executor loop(io);
    co_spawn(io, handler(handlers), asio::detached);
    loop.spawn(task(tasks));
    asio_executor.spawn(nothing());
    uv_executor.spawn(nothing());
    tryst::uring::context ring;
    ring.spawn(host(front, back));
    ring.spawn(porter(doors));
    ring.run_until_idle();
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) {
        return 1;
    }
    tryst::uring::context kernel;
    kernel.spawn(read_byte(kernel, ends[0]));
    const tryst::uring::accept_stream stream(kernel, -1);
    const tryst::uring::recv_stream packets(kernel, -1);
    kernel.run_until_idle();
    closed_connection.close();
    while (unreachable.last_error().empty()) {
        redis.run_one();
    }
    bool has_begun = false;
    boost::fibers::fiber fiber([&] {
        has_begun = true;
        (void)tryst::fiber::wait(fibers.exchange(0)); // fiber
    });
    io.poll();
    while (!has_begun) {
        boost::this_fiber::yield();
    }
    boost::this_fiber::yield(); // the fiber has offered itself, and sleeps
    stop_here();
    front.close(); // which ends the wait in the other one, too
    doors[0].close();
    ring.run_until_idle();
    handlers.close();
    tasks.close();
    fibers.close();
    fiber.join();
    io.run();
}
