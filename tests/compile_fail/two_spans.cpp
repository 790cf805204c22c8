// One of them would never be made.
// diagnostic: at most one tryst::traced
#include <tryst/exchanger.hpp>

#include <system_error>

template <int>
struct span {
    explicit span(const char*) noexcept;
    void end(std::error_code) noexcept;
};

#if MISTAKE == 0
using exchanger = tryst::exchanger<int, tryst::traced<span<1>>, tryst::counted>;
#else
using exchanger =
    tryst::exchanger<int, tryst::traced<span<1>>, tryst::counted, tryst::traced<span<2>>>;
#endif
const auto refused = &exchanger::close;
