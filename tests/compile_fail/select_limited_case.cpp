// The limits belong to the selection.
// diagnostic: give the stop token or the deadline to the selection
// diagnostic: give the stop token or the deadline to the selection
// diagnostic: give the stop token or the deadline to the selection
#include <tryst/exchanger.hpp>
#include <tryst/select.hpp>

#include <array>
#include <chrono>
#include <stop_token>

using namespace std::chrono_literals;

void refused(std::array<tryst::exchanger<int>, 2>& ex, std::stop_token stop) {
#if MISTAKE == 1
    static_cast<void>(tryst::select(ex[0].exchange(1, stop), ex[1].exchange(2)));
#elif MISTAKE == 2
    static_cast<void>(tryst::select(ex[0].exchange(1), ex[1].exchange_for(2, 5ms)));
#elif MISTAKE == 3
    static_cast<void>(tryst::select_from(ex, [&](auto& each) { return each.exchange(1, stop); }));
#else
    static_cast<void>(tryst::select_for(5ms, ex[0].exchange(1), ex[1].exchange(2), stop));
    static_cast<void>(tryst::select_from(ex, [](auto& each) { return each.exchange(1); }, stop));
#endif
}
