// Compilers do not align coroutine frames for it.
// diagnostic: tryst::synchronous_channel<T>: T must not be over-aligned
#include <tryst/synchronous_channel.hpp>

struct alignas(MISTAKE == 0 ? 16 : 32) item {};

tryst::synchronous_channel<item> refused;
