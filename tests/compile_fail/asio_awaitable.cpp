// Awaitables of tryst in coroutines of Asio and of Boost.Asio, without the adapter.
#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/strand.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <stop_token>

using strand = asio::strand<asio::io_context::executor_type>;

template <class T>
void use(const T&);
tryst::task<int> work();

asio::awaitable<void> in_asio(tryst::exchanger<int>& ex, tryst::uring::context& context) {
#if MISTAKE == 1 // co_await tryst::asio::wait\(operation\)
    auto got = co_await ex.exchange(1);
    use(*got);
#elif MISTAKE == 2 // tryst::asio::async_wait\(task, asio::use_awaitable\)
    const int got = co_await work();
    use(got);
#elif MISTAKE == 3 // tryst::asio::async_wait\(task, asio::use_awaitable\)
    auto own = work();
    co_await own;
#elif MISTAKE == 4 // await it in a tryst::task
    co_await tryst::executor_ref().schedule();
#elif MISTAKE == 5 // await it in a tryst::task
    auto read = co_await context.fsync(1);
    use(read.error());
#endif
    co_return;
}

asio::awaitable<int, strand> on_a_strand(tryst::synchronous_channel<int>& channel,
                                         std::stop_token stop) {
    auto send = channel.send(1, std::chrono::steady_clock::now(), stop);
#if MISTAKE == 6 // co_await tryst::asio::wait\(operation\)
    use((co_await send).error());
#endif
    co_return 1;
}

boost::asio::awaitable<void> in_boost_asio(tryst::exchanger<int>& ex) {
#if MISTAKE == 7 // co_await tryst::asio::wait\(operation\)
    auto got = co_await ex.exchange(1);
    use(*got);
#elif MISTAKE == 8 // tryst::asio::async_wait\(task, asio::use_awaitable\)
    const int got = co_await work();
    use(got);
#endif
    co_return;
}
