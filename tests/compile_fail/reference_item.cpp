// A reference cannot be handed over.
// diagnostic: T must be a non-array, non-const object type
#include <tryst/exchanger.hpp>

#if MISTAKE
tryst::exchanger<int&> refused;
#else
tryst::exchanger<int*> accepted;
#endif
