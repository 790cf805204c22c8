// Compilers do not align coroutine frames for it.
// diagnostic: items must not be over-aligned
#include <tryst/red_blue_exchanger.hpp>

struct alignas(MISTAKE == 0 ? 16 : 32) item {};

tryst::red_blue_exchanger<int, item> refused;
