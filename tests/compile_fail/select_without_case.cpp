// diagnostic: select needs at least one case
// diagnostic: select needs at least one case
#include <tryst/select.hpp>
#include <tryst/synchronous_channel.hpp>

#include <stop_token>

void refused(tryst::synchronous_channel<int>& channel, std::stop_token stop) {
#if MISTAKE == 1
    static_cast<void>(tryst::select());
#elif MISTAKE == 2
    static_cast<void>(tryst::select(stop));
#else
    static_cast<void>(tryst::select(channel.receive()));
    static_cast<void>(tryst::select(channel.receive(), stop));
#endif
}
