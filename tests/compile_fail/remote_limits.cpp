// The limits of a remote operation are those of an exchange; a try_ form takes none.
#include <tryst/redis.hpp>

#include <chrono>
#include <stop_token>

using namespace std::chrono_literals;

auto wait(tryst::redis::remote_exchanger<int>& room,
          tryst::redis::remote_red_blue_exchanger<int>& desk, std::stop_token stop) {
#if MISTAKE == 1 // tryst: an operation takes one duration or one time point, not two
    return room.exchange(1, 5ms, std::chrono::steady_clock::now());
#elif MISTAKE == 2 // tryst: a try_ operation does not wait, so it takes no limit
    return desk.try_red(1, 5ms);
#else
    auto party = desk.red(1, 5ms, stop);
    return room.exchange(1, stop, 5ms);
#endif
}
