// A deadline where a duration is expected.
// diagnostic: async_receive_for..io_executor,. synchronous_channel<T>&, duration, token
#include <tryst/asio/async_channel.hpp>

#include <chrono>

void refused(tryst::synchronous_channel<int>& channel) {
    auto limit = std::chrono::steady_clock::now();
#if MISTAKE
    tryst::asio::async_receive_for(channel, limit, [](auto, auto) {});
#else
    tryst::asio::async_receive_until(channel, limit, [](auto, auto) {});
#endif
}
