// An awaitable of tryst in a coroutine of Boost.Asio.
// diagnostic: co_await tryst::asio::wait\(operation\)
// diagnostic: tryst::asio::async_wait\(task, asio::use_awaitable\)
#include <tryst/exchanger.hpp>
#include <tryst/task.hpp>

#include <boost/asio/awaitable.hpp>

template <class T>
void use(const T&);
tryst::task<int> work();

boost::asio::awaitable<void> refused([[maybe_unused]] tryst::exchanger<int>& ex) {
#if MISTAKE == 1
    auto got = co_await ex.exchange(1);
    use(*got);
#elif MISTAKE == 2
    const int got = co_await work();
    use(got);
#endif
    co_return;
}
