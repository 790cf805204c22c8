// `wait` takes an operation, `async_wait` also a task. Both take it over. A handler can be called.
#include <tryst/asio.hpp>

#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>

#include <exception>
#include <stop_token>
#include <utility>

template <class T>
void use(const T&);
tryst::task<int> work();
tryst::task<int> stoppable_work(std::stop_token);

asio::awaitable<void> in_coroutine(tryst::exchanger<int>& ex) {
    auto named = ex.exchange(1);
    auto other = ex.exchange(2);
    auto own = work();
#if MISTAKE == 1 // wait takes an rvalue: co_await wait\(ex.exchange\(x\)\)
    auto got = co_await tryst::asio::wait(named);
    use(*got);
#elif MISTAKE == 2 // wait takes no task: co_await async_wait\(task, asio::use_awaitable\)
    const int got = co_await tryst::asio::wait(own);
    use(got);
#elif MISTAKE == 3 // wait takes no function: .* follows the coroutine's cancellation state
    auto got = co_await tryst::asio::wait([&](auto stop) { return ex.exchange(1, stop); });
    use(*got);
#elif MISTAKE == 4 // wait takes an operation: co_await wait\(ex.exchange\(x\)\)
    co_await tryst::asio::wait(stoppable_work);
#elif MISTAKE == 5 // async_wait takes an rvalue: async_wait\(ex.exchange\(x\), token\)
    auto got = co_await tryst::asio::async_wait(named, asio::use_awaitable);
    use(*got);
#elif MISTAKE == 6 // async_wait takes an operation, a task, or a function
    co_await tryst::asio::async_wait(ex, asio::use_awaitable);
#elif MISTAKE == 7 // async_wait takes an operation, a task, or a function
    co_await tryst::asio::async_wait([&](std::stop_token stop) { return ex.exchange(1, stop); },
                                     asio::use_awaitable);
#else
    use(*co_await tryst::asio::wait(std::move(named)));
    use(*co_await tryst::asio::async_wait(std::move(other), asio::use_awaitable));
    use(co_await tryst::asio::async_wait(std::move(own), asio::use_awaitable));
    use(co_await tryst::asio::async_wait(stoppable_work, asio::use_awaitable));
#endif
}

void with_handler(tryst::exchanger<int>& ex, asio::io_context& io) {
#if MISTAKE == 8 // that can be called.*void ?\(tryst::exchange_result<int
    tryst::asio::async_wait(ex.exchange(1), [] {});
#elif MISTAKE == 9 // that can be called.*void ?\(tryst::exchange_result<int
    tryst::asio::async_wait(ex.exchange(1), asio::bind_executor(io, [] {}));
#elif MISTAKE == 10 // that can be called.*void ?\(std::[_a-z:]*exception_ptr, int\)
    tryst::asio::async_wait(work(), [](std::exception_ptr) {});
#elif MISTAKE == 11 // that can be called.*void ?\(std::[_a-z:]*exception_ptr, int\)
    tryst::asio::async_wait(stoppable_work, [](std::exception_ptr) {});
#elif MISTAKE == 12 // must be a completion token for this signature
    tryst::asio::async_wait(work(), io);
#else
    tryst::asio::async_wait(ex.exchange(1), [](auto) {});
    tryst::asio::async_wait(ex.exchange(1), asio::bind_executor(io, [](auto) {}));
    tryst::asio::async_wait(work(), [](std::exception_ptr, int) {});
    tryst::asio::async_wait(stoppable_work, [](std::exception_ptr, int) {});
#endif
}
