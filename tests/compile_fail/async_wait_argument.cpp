// `async_wait` of something that is no operation and no task.
// diagnostic: async_wait takes an operation, a task, or a function
// diagnostic: async_wait takes an operation, a task, or a function
// diagnostic: async_wait takes an operation, a task, or a function
// diagnostic: async_wait takes an operation, a task, or a function
// diagnostic: async_wait takes an operation, a task, or a function
// diagnostic: async_wait takes an rvalue: async_wait\(ex.exchange\(x\), token\)
// diagnostic: async_wait takes an rvalue: async_wait\(ex.exchange\(x\), token\)
#include <tryst/asio/async_wait.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/select.hpp>

#include <asio/awaitable.hpp>

#include <stop_token>
#include <utility>

tryst::task<> work();
tryst::task<> stoppable_work(std::stop_token);

asio::awaitable<void> refused([[maybe_unused]] tryst::exchanger<int>& ex) {
    [[maybe_unused]] auto operation = ex.exchange(1);
#if MISTAKE == 0
    co_await tryst::asio::async_wait(work(), asio::use_awaitable);
    co_await tryst::asio::async_wait(stoppable_work, asio::use_awaitable);
    auto got = co_await tryst::asio::async_wait(std::move(operation), asio::use_awaitable);
    got = co_await tryst::asio::async_wait(ex.exchange(1), asio::use_awaitable);
#elif MISTAKE == 1
    co_await tryst::asio::async_wait(7, asio::use_awaitable);
#elif MISTAKE == 2
    co_await tryst::asio::async_wait(work, asio::use_awaitable);
#elif MISTAKE == 3
    co_await tryst::asio::async_wait(ex, asio::use_awaitable);
#elif MISTAKE == 4
    co_await tryst::asio::async_wait([&] { return ex.exchange(1); }, asio::use_awaitable);
#elif MISTAKE == 5
    co_await tryst::asio::async_wait([&](std::stop_token stop) { return ex.exchange(1, stop); },
                                     asio::use_awaitable);
#elif MISTAKE == 6
    auto got = co_await tryst::asio::async_wait(operation, asio::use_awaitable);
    static_cast<void>(*got);
#elif MISTAKE == 7
    tryst::asio::async_wait(operation, [](auto) {});
    co_return;
#endif
}
