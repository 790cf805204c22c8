// Compilers do not align coroutine frames for it.
// diagnostic: Span must not be over-aligned
#include <tryst/exchanger.hpp>

#include <system_error>

struct alignas(MISTAKE == 0 ? 16 : 32) span {
    explicit span(const char*) noexcept;
    void end(std::error_code) noexcept;
};

using exchanger = tryst::exchanger<int, tryst::traced<span>>;
const auto refused = &exchanger::close;
