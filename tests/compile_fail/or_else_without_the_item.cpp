// A failure hands your own item back.
// diagnostic: or_else calls its function with the error and your own item
#include <tryst/result.hpp>

#include <system_error>

using result = tryst::exchange_result<int>;

result refused(result got) {
#if MISTAKE
    return std::move(got).or_else([](std::error_code) { return result(1); });
#else
    return std::move(got).or_else([](std::error_code, int own) { return result(own); });
#endif
}
