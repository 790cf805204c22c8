// Asio has to have coroutines. Asio 1.22 does not define the macro with clang.
#if MISTAKE == 1 // Asio does not know that this compiler has coroutines: .*-DASIO_HAS_CO_AWAIT
#undef ASIO_HAS_CO_AWAIT
#define ASIO_DISABLE_CO_AWAIT
#endif
#include <tryst/asio.hpp>
