// Compilers do not align coroutine frames for it.
// diagnostic: T must not be over-aligned.*std::unique_ptr<T>
#include <tryst/exchanger.hpp>

struct alignas(MISTAKE == 0 ? 16 : 32) item {};

tryst::exchanger<item> refused;
