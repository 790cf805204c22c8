// Handlers that cannot be called.
// diagnostic: that can be called.*void ?\(tryst::exchange_result<int
// diagnostic: that can be called.*void ?\(tryst::exchange_result<char, int>\)
// diagnostic: that can be called.*void ?\(tryst::exchange_result<void, int>\)
// diagnostic: that can be called.*void ?\(tryst::exchange_result<int, void>\)
// diagnostic: that can be called.*void ?\(tryst::select_result<tryst::exchange_result<int
// diagnostic: that can be called.*void ?\(std::[_a-z:]*exception_ptr, int\)
// diagnostic: that can be called.*void ?\(std::[_a-z:]*exception_ptr, int\)
// diagnostic: must be a completion token for this signature
// diagnostic: must be a completion token for this signature
#include <tryst/asio.hpp>

#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <stop_token>

tryst::task<int> work();
tryst::task<int> stoppable_work(std::stop_token);

#if MISTAKE
struct taken {}; // what the handlers take
#else
struct taken {
    taken(auto&&) {}
};
#endif

void refused([[maybe_unused]] tryst::exchanger<int>& ex,
             [[maybe_unused]] tryst::red_blue_exchanger<int, char>& red_blue,
             [[maybe_unused]] tryst::synchronous_channel<int>& channel,
             [[maybe_unused]] asio::io_context& io) {
    [[maybe_unused]] const std::chrono::seconds second(1);
    [[maybe_unused]] const auto done = [](taken) {};
    [[maybe_unused]] const auto ended = [](std::exception_ptr, taken) {};
#if MISTAKE < 2
    tryst::asio::async_wait(ex.exchange(1), done);
#endif
#if MISTAKE == 0 || MISTAKE == 2
    tryst::asio::async_wait(red_blue.red(1, second), done);
#endif
#if MISTAKE == 0 || MISTAKE == 3
    tryst::asio::async_wait(channel.send(1), done);
#endif
#if MISTAKE == 0 || MISTAKE == 4
    tryst::asio::async_wait(channel.receive(), asio::bind_executor(io, done));
#endif
#if MISTAKE == 0 || MISTAKE == 5
    tryst::asio::async_wait(tryst::select(ex.exchange(1), channel.receive()), done);
#endif
#if MISTAKE == 0 || MISTAKE == 6
    tryst::asio::async_wait(work(), ended);
#endif
#if MISTAKE == 0 || MISTAKE == 7
    tryst::asio::async_wait(stoppable_work, ended);
#endif
#if MISTAKE == 8
    tryst::asio::async_wait(work(), io);
#elif MISTAKE == 9
    tryst::asio::async_wait(ex.exchange(1), io);
#endif
}
