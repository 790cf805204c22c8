// Handlers that cannot be called.
// diagnostic: that can be called.*void ?\(std::error_code, int\)
// diagnostic: that can be called.*void ?\(std::error_code, int\)
// diagnostic: that can be called.*void ?\(std::error_code, int\)
// diagnostic: that can be called.*void ?\(std::error_code, tryst::exchange_result<char, int>\)
// diagnostic: that can be called.*void ?\(std::error_code, tryst::exchange_result<int, char>\)
// diagnostic: that can be called.*void ?\(std::error_code, std::optional<int>\)
// diagnostic: that can be called.*void ?\(std::error_code, std::optional<int>\)
// diagnostic: that can be called.*void ?\(std::[_a-z:]*exception_ptr, int\)
// diagnostic: that can be called.*void ?\(std::[_a-z:]*exception_ptr, int\)
// diagnostic: must be a completion token for this signature
#include <tryst/asio.hpp>

#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <stop_token>

using tryst::asio::error_code;
tryst::task<int> work();
tryst::task<int> stoppable_work(std::stop_token);

#if MISTAKE
using item = char*;
#else
using item = int;
#endif

void refused([[maybe_unused]] tryst::exchanger<int>& ex,
             [[maybe_unused]] tryst::red_blue_exchanger<int, char>& red_blue,
             [[maybe_unused]] tryst::synchronous_channel<int>& channel,
             [[maybe_unused]] asio::io_context& io) {
    [[maybe_unused]] const auto now = std::chrono::steady_clock::now();
    [[maybe_unused]] const std::chrono::seconds second(1);
    [[maybe_unused]] const auto exchanged = [](error_code, item) {};
    [[maybe_unused]] const auto passed = [](error_code, std::optional<item>) {};
    [[maybe_unused]] const auto ended = [](std::exception_ptr, item) {};
#if MISTAKE < 2
    tryst::asio::async_exchange(ex, 1, exchanged);
#endif
#if MISTAKE == 0 || MISTAKE == 2
    tryst::asio::async_exchange_for(ex, 1, second, exchanged);
#endif
#if MISTAKE == 0 || MISTAKE == 3
    tryst::asio::async_exchange_until(io.get_executor(), ex, 1, now, exchanged);
#endif
#if MISTAKE == 0 || MISTAKE == 4
    tryst::asio::async_red(red_blue, 1, [](error_code, tryst::exchange_result<char, item>) {});
#endif
#if MISTAKE == 0 || MISTAKE == 5
    tryst::asio::async_blue(red_blue, 'a', [](error_code, tryst::exchange_result<item, char>) {});
#endif
#if MISTAKE == 0 || MISTAKE == 6
    tryst::asio::async_send(channel, 1, passed);
#endif
#if MISTAKE == 0 || MISTAKE == 7
    tryst::asio::async_receive(io.get_executor(), channel, asio::bind_executor(io, passed));
#endif
#if MISTAKE == 0 || MISTAKE == 8
    tryst::asio::async_wait(work(), ended);
#endif
#if MISTAKE == 0 || MISTAKE == 9
    tryst::asio::async_wait(stoppable_work, ended);
#endif
#if MISTAKE == 10
    tryst::asio::async_wait(work(), io);
#endif
}
