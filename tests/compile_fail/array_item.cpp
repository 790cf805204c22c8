// An array cannot be moved.
// diagnostic: T must be a non-array, non-const object type
#include <tryst/exchanger.hpp>

#include <array>

#if MISTAKE
tryst::exchanger<int[2]> refused;
#else
tryst::exchanger<std::array<int, 2>> accepted;
#endif
