// The library needs exceptions: without them, compilers do not define this macro.
#if MISTAKE == 1 // compile with exceptions
#undef __cpp_exceptions
#endif
#include <tryst/executor.hpp>
