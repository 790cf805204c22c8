// The limits of an operation are a time and a std::stop_token.
// diagnostic: tryst: an operation takes one duration or one time point, not two
// diagnostic: tryst: an operation takes one stop token, not two
// diagnostic: tryst: a deadline is a time point of the std::chrono::steady_clock
// diagnostic: tryst: a number is no time limit, it needs a unit
// diagnostic: tryst: the last arguments of an operation are its limits
// diagnostic: tryst::uring: the stop token of an operation is a std::stop_token
// diagnostic: tryst: a number is no time limit, it needs a unit
#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <chrono>
#include <stop_token>

using namespace std::chrono_literals;

auto refused(tryst::uring::context& loop, int socket, std::span<std::byte> into,
             std::stop_token stop, tryst::inplace_stop_token other) {
#if MISTAKE == 1
    return loop.recv(socket, into, 0, 5ms, std::chrono::steady_clock::now());
#elif MISTAKE == 2
    return loop.accept(socket, stop, 5ms, other);
#elif MISTAKE == 3
    return loop.timeout(std::chrono::system_clock::now() + 5ms);
#elif MISTAKE == 4
    return loop.recv(socket, into, 0, 5);
#elif MISTAKE == 5
    return loop.close(tryst::uring::descriptor(socket), tryst::uring::limits(5ms), stop);
#elif MISTAKE == 6
    return loop.recv(socket, into, 0, 5ms, other);
#elif MISTAKE == 7
    return tryst::uring::limits(stop, 5.0);
#else
    other.stop_requested();
    return loop.recv(socket, into, 0, stop, 5ms);
#endif
}
