// A T whose move may throw could be lost halfway through a swap.
// diagnostic: T must be nothrow move constructible
#include <tryst/exchanger.hpp>

struct item {
    item(item&&) noexcept(MISTAKE == 0);
    item& operator=(item&&) noexcept(MISTAKE == 0);
};

tryst::exchanger<item> refused;
