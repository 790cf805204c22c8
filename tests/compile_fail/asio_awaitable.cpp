// An awaitable of tryst in a coroutine of Asio, which includes nothing of the adapter.
// diagnostic: co_await tryst::asio::wait\(operation\)
// diagnostic: co_await tryst::asio::wait\(operation\)
// diagnostic: co_await tryst::asio::wait\(operation\)
// diagnostic: co_await tryst::asio::wait\(operation\)
// diagnostic: tryst::asio::async_wait\(task, asio::use_awaitable\)
// diagnostic: tryst::asio::async_wait\(task, asio::use_awaitable\)
// diagnostic: tryst::asio::async_wait\(task, asio::use_awaitable\)
// diagnostic: await it in a tryst::task
// diagnostic: await it in a tryst::task
#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/strand.hpp>

#include <chrono>
#include <stop_token>

template <class T>
void use(const T&);
tryst::task<int> work();

asio::awaitable<void> refused([[maybe_unused]] tryst::exchanger<int>& ex) {
#if MISTAKE == 1
    auto got = co_await ex.exchange(1);
    use(*got);
#elif MISTAKE == 5
    const int got = co_await work();
    use(got);
#elif MISTAKE == 6
    auto own = work();
    co_await own;
#elif MISTAKE == 7
    auto [one, two] = co_await tryst::when_all(work(), work());
    use(one + two);
#elif MISTAKE == 8
    co_await tryst::executor_ref().schedule();
#endif
    co_return;
}

asio::awaitable<void, asio::io_context::executor_type>
refused([[maybe_unused]] tryst::red_blue_exchanger<int, char>& ex) {
#if MISTAKE == 2
    if (const auto got = co_await ex.red(1, std::chrono::seconds(1))) {
        use(*got);
    }
#endif
    co_return;
}

asio::awaitable<int, asio::strand<asio::io_context::executor_type>>
refused([[maybe_unused]] tryst::synchronous_channel<int>& channel,
        [[maybe_unused]] std::stop_token stop) {
#if MISTAKE == 3
    auto got = co_await channel.receive(stop);
    co_return *got;
#elif MISTAKE == 4
    auto send = channel.send(1, std::chrono::steady_clock::now(), stop);
    use((co_await send).error());
#endif
    co_return 1;
}

asio::awaitable<void> refused([[maybe_unused]] tryst::uring::context& context) {
#if MISTAKE == 9
    auto read = co_await context.fsync(1);
    use(read.error());
#endif
    co_return;
}
