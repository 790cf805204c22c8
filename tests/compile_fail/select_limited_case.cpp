// The limits belong to the selection.
// diagnostic: the limits belong to the selection, not to one of its cases
// diagnostic: the limits belong to the selection, not to one of its cases
// diagnostic: the limits belong to the selection, not to one of its cases
// diagnostic: the limits belong to the selection, not to one of its cases
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
    static_cast<void>(tryst::select(ex[0].exchange(1), ex[1].exchange(2, 5ms)));
#elif MISTAKE == 3
    static_cast<void>(tryst::select_from(ex, [&](auto& each) { return each.exchange(1, stop); }));
#elif MISTAKE == 4
    static_cast<void>(tryst::select_from(ex, [](auto& each) { return each.exchange(1, 5ms); }));
#else
    static_cast<void>(tryst::select(ex[0].exchange(1), ex[1].exchange(2), 5ms, stop));
    static_cast<void>(tryst::select_from(ex, [](auto& each) { return each.exchange(1); }, stop));
#endif
}
