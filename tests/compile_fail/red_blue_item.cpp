// Either colour's item must survive a swap.
// diagnostic: tryst::red_blue_exchanger<Red, Blue>: items must be
#include <tryst/red_blue_exchanger.hpp>

struct item {
    item(item&&) noexcept(MISTAKE == 0);
    item& operator=(item&&) noexcept(MISTAKE == 0);
};

tryst::red_blue_exchanger<int, item> refused;
