// The limits of an operation are a time and a std::stop_token.
#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <chrono>
#include <stop_token>

using namespace std::chrono_literals;

auto wait(tryst::uring::context& loop, int socket, std::span<std::byte> into, std::stop_token stop,
          tryst::inplace_stop_token other) {
#if MISTAKE == 1 // tryst: an operation takes one duration or one time point, not two
    return loop.recv(socket, into, 0, 5ms, std::chrono::steady_clock::now());
#elif MISTAKE == 2 // tryst: a number is no time limit, it needs a unit
    return loop.timeout(5);
#elif MISTAKE == 3 // tryst: the last arguments of an operation are its limits
    return loop.close(tryst::uring::descriptor(socket), tryst::uring::limits(5ms), stop);
#elif MISTAKE == 4 // tryst::uring: the stop token of an operation is a std::stop_token
    return loop.recv(socket, into, 0, 5ms, other);
#else
    other.stop_requested();
    return loop.recv(socket, into, 0, stop, 5ms);
#endif
}
