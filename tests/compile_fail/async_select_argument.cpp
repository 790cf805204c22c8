// `async_select` of something that makes no selection, or with a wrong handler or executor.
// diagnostic: async_select takes a function that returns a selection
// diagnostic: async_select takes a function that returns a selection
// diagnostic: async_select takes a function that returns a selection
// diagnostic: async_select takes a function that returns a selection
// diagnostic: async_select takes a function that returns a selection
// diagnostic: that can be called.*void ?\(tryst::select_result<tryst::exchange_result<int,
// diagnostic: the first of three arguments of async_select is an I/O executor
#include <tryst/asio/async_select.hpp>
#include <tryst/synchronous_channel.hpp>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>

#include <exception>

asio::awaitable<void> refused(tryst::synchronous_channel<int>& a,
                              [[maybe_unused]] tryst::synchronous_channel<int>& b,
                              [[maybe_unused]] asio::io_context& io) {
    const auto make = [&] { return tryst::select(a.receive(), b.receive()); };
#if MISTAKE == 0
    static_cast<void>(co_await tryst::asio::async_select(make, asio::use_awaitable));
    static_cast<void>(
        co_await tryst::asio::async_select(io.get_executor(), make, asio::use_awaitable));
#elif MISTAKE == 1
    co_await tryst::asio::async_select(7, asio::use_awaitable);
#elif MISTAKE == 2
    co_await tryst::asio::async_select(make(), asio::use_awaitable);
#elif MISTAKE == 3
    co_await tryst::asio::async_select(a.receive(), asio::use_awaitable);
#elif MISTAKE == 4
    co_await tryst::asio::async_select([&] { return a.receive(); }, asio::use_awaitable);
#elif MISTAKE == 5
    tryst::asio::async_select([&](auto stop) { return tryst::select(a.receive(), stop); },
                              [](auto) {});
    co_return;
#elif MISTAKE == 6
    tryst::asio::async_select(make, [](std::exception_ptr) {});
    co_return;
#elif MISTAKE == 7
    static_cast<void>(co_await tryst::asio::async_select(io, make, asio::use_awaitable));
#endif
}
