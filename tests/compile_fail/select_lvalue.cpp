// A selection takes the items out of its cases, so the caller gives them up.
// diagnostic: select takes over its cases
// diagnostic: select takes over its cases
// diagnostic: select takes over its cases
#include <tryst/exchanger.hpp>
#include <tryst/select.hpp>

#include <utility>

void refused(tryst::exchanger<int>& a, tryst::exchanger<int>& b) {
    auto named = a.exchange(1);
#if MISTAKE == 1
    static_cast<void>(tryst::select(named, b.exchange(2)));
#elif MISTAKE == 2
    static_cast<void>(tryst::try_select(named, b.exchange(2)));
#elif MISTAKE == 3
    const auto fixed = b.exchange(2);
    static_cast<void>(tryst::select(std::move(named), std::move(fixed)));
#else
    static_cast<void>(tryst::select(std::move(named), b.exchange(2)));
#endif
}
