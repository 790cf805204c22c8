// Compilers do not align coroutine frames for it.
// diagnostic: tryst::task<T>: T must not be over-aligned
#include <tryst/task.hpp>

struct alignas(MISTAKE == 0 ? 16 : 32) item {};

tryst::task<item> refused;
