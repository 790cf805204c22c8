// It is told by its destructor only.
// diagnostic: Span needs a constructor Span.const char\*. and a function end.std::error_code.
#include <tryst/exchanger.hpp>

#include <system_error>

struct span {
    explicit span(const char*) noexcept;
#if MISTAKE == 0
    void end(std::error_code) noexcept;
#endif
};

using exchanger = tryst::exchanger<int, tryst::traced<span>>;
const auto refused = &exchanger::close;
