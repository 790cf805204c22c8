// The library needs exceptions.
// diagnostic: compile with exceptions
#if MISTAKE
#undef __cpp_exceptions // as with -fno-exceptions
#endif
#include <tryst/executor.hpp>
