// The limits of a remote operation are those of an exchange; a try_ form takes none.
// diagnostic: tryst: an operation takes one duration or one time point, not two
// diagnostic: tryst: a number is no time limit, it needs a unit
// diagnostic: tryst: a try_ operation does not wait, so it takes no limit
#include <tryst/redis.hpp>

#include <chrono>
#include <stop_token>

using namespace std::chrono_literals;

auto refused(tryst::redis::remote_exchanger<int>& room,
             tryst::redis::remote_red_blue_exchanger<int>& desk,
             tryst::redis::remote_channel<int>& pipe, std::stop_token stop) {
#if MISTAKE == 1
    return room.exchange(1, 5ms, std::chrono::steady_clock::now());
#elif MISTAKE == 2
    return pipe.receive(5);
#elif MISTAKE == 3
    return desk.try_red(1, 5ms);
#else
    auto party = desk.red(1, 5ms, stop);
    auto receiver = pipe.receive(stop);
    return room.exchange(1, stop, 5ms);
#endif
}
