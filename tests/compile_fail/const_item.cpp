// A const item could not be moved out of its owner's hands.
// diagnostic: T must be a non-array, non-const object type
#include <tryst/exchanger.hpp>

#if MISTAKE
tryst::exchanger<const int> refused;
#else
tryst::exchanger<int> accepted;
#endif
