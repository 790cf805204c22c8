// What is neither a case nor a stop token at the end.
// diagnostic: the arguments of select are what exchange, .* return, then perhaps a stop token
// diagnostic: the arguments of select are what exchange, .* return, then perhaps a stop token
// diagnostic: the arguments of select are .* select_for and select_until take their limit first
// diagnostic: the arguments of select are what exchange, .* return, then perhaps a stop token
// diagnostic: the arguments of select are what exchange, .* return, then perhaps a stop token
// diagnostic: the arguments of select are what exchange, .* return, then perhaps a stop token
// diagnostic: try_select does not wait, so it takes no stop token
#include <tryst/exchanger.hpp>
#include <tryst/select.hpp>
#include <tryst/synchronous_channel.hpp>

#include <chrono>
#include <stop_token>

using namespace std::chrono_literals;

void refused(tryst::synchronous_channel<int>& a, tryst::exchanger<int>& b, std::stop_token stop) {
#if MISTAKE == 1
    static_cast<void>(tryst::select(a.receive(), stop, b.exchange(1)));
#elif MISTAKE == 2
    static_cast<void>(tryst::select(a.receive(), b.exchange(1), stop, stop));
#elif MISTAKE == 3
    static_cast<void>(tryst::select(a.receive(), b.exchange(1), 5ms));
#elif MISTAKE == 4
    static_cast<void>(tryst::select(a, b));
#elif MISTAKE == 5
    static_cast<void>(tryst::select(a.try_receive(), b.try_exchange(1)));
#elif MISTAKE == 6
    static_cast<void>(tryst::select(tryst::select(a.receive()), b.exchange(1)));
#elif MISTAKE == 7
    static_cast<void>(tryst::try_select(a.receive(), b.exchange(1), stop));
#else
    static_cast<void>(tryst::select(a.receive(), b.exchange(1), stop));
    static_cast<void>(tryst::try_select(a.receive(), b.exchange(1)));
#endif
}
