// What is neither a case nor a limit, and limits that are not the last arguments.
// diagnostic: the limits of a selection come after its cases
// diagnostic: the limits of a selection come after its cases
// diagnostic: the limits of a selection come after its cases
// diagnostic: the arguments of select are what exchange, .* return, then its limits
// diagnostic: the arguments of select are what exchange, .* return, then its limits
// diagnostic: the arguments of select are what exchange, .* return, then its limits
// diagnostic: try_select does not wait, so it takes no limit
// diagnostic: try_select does not wait, so it takes no limit
// diagnostic: the arguments of select are what exchange, .* return, then its limits
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
    static_cast<void>(tryst::select(stop, a.receive(), b.exchange(1)));
#elif MISTAKE == 3
    static_cast<void>(tryst::select_biased(5ms, a.receive(), b.exchange(1)));
#elif MISTAKE == 4
    static_cast<void>(tryst::select(a, b));
#elif MISTAKE == 5
    static_cast<void>(tryst::select(a.try_receive(), b.try_exchange(1)));
#elif MISTAKE == 6
    static_cast<void>(tryst::select(tryst::select(a.receive()), b.exchange(1)));
#elif MISTAKE == 7
    static_cast<void>(tryst::try_select(a.receive(), b.exchange(1), stop));
#elif MISTAKE == 8
    static_cast<void>(tryst::try_select(a.receive(), b.exchange(1), 5ms));
#elif MISTAKE == 9
    static_cast<void>(tryst::try_select(a, b.exchange(1)));
#else
    static_cast<void>(tryst::select(a.receive(), b.exchange(1), 5ms, stop));
    static_cast<void>(tryst::select_biased(a.receive(), b.exchange(1), stop, 5ms));
    static_cast<void>(tryst::try_select(a.receive(), b.exchange(1)));
#endif
}
