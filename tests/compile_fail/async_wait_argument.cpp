// `async_wait` of something that is no task.
// diagnostic: async_wait takes a task
// diagnostic: async_wait takes a task
// diagnostic: for an exchange, use wait
#include <tryst/asio/async_wait.hpp>
#include <tryst/exchanger.hpp>

#include <asio/awaitable.hpp>

#include <stop_token>

tryst::task<> work();
tryst::task<> stoppable_work(std::stop_token);

asio::awaitable<void> refused([[maybe_unused]] tryst::exchanger<int>& ex) {
#if MISTAKE == 0
    co_await tryst::asio::async_wait(work(), asio::use_awaitable);
    co_await tryst::asio::async_wait(stoppable_work, asio::use_awaitable);
#elif MISTAKE == 1
    co_await tryst::asio::async_wait(7, asio::use_awaitable);
#elif MISTAKE == 2
    co_await tryst::asio::async_wait(work, asio::use_awaitable);
#elif MISTAKE == 3
    co_await tryst::asio::async_wait(ex.exchange(1), asio::use_awaitable);
#endif
}
