// `wait` of something that is no operation.
// diagnostic: wait takes an rvalue: co_await wait\(ex.exchange\(x\)\)
// diagnostic: wait takes no task: co_await async_wait\(task, asio::use_awaitable\)
// diagnostic: wait takes no task: co_await async_wait\(task, asio::use_awaitable\)
// diagnostic: wait takes no function: .* follows the coroutine's cancellation state
// diagnostic: wait takes no function: .* follows the coroutine's cancellation state
// diagnostic: wait takes an operation: co_await wait\(ex.exchange\(x\)\)
// diagnostic: wait takes an operation: co_await wait\(ex.exchange\(x\)\)
#include <tryst/asio/wait.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/task.hpp>

#include <asio/awaitable.hpp>

#include <stop_token>
#include <utility>

template <class T>
void use(const T&);
tryst::task<int> work();

asio::awaitable<void> refused(tryst::exchanger<int>& ex) {
    auto operation = ex.exchange(1);
#if MISTAKE == 0
    auto got = co_await tryst::asio::wait(std::move(operation));
    use(*got);
#elif MISTAKE == 1
    auto got = co_await tryst::asio::wait(operation);
    use(*got);
#elif MISTAKE == 2
    const int got = co_await tryst::asio::wait(work());
    use(got);
#elif MISTAKE == 3
    auto own = work();
    const int got = co_await tryst::asio::wait(own);
    use(got);
#elif MISTAKE == 4
    auto got = co_await tryst::asio::wait([&](auto stop) { return ex.exchange(1, stop); });
    use(*got);
#elif MISTAKE == 5
    auto start = [&](std::stop_token stop) { return ex.exchange(1, stop); };
    auto got = co_await tryst::asio::wait(start);
    use(*got);
#elif MISTAKE == 6
    co_await tryst::asio::wait(7);
#elif MISTAKE == 7
    co_await tryst::asio::wait([](std::stop_token) { return work(); });
#endif
}
