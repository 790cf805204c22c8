// A T whose destructor may throw could end a swap halfway through.
// diagnostic: T must be nothrow destructible
#include <tryst/exchanger.hpp>

struct item {
    item(item&&) noexcept;
    item& operator=(item&&) noexcept;
    ~item() noexcept(MISTAKE == 0);
};

tryst::exchanger<item> refused;
