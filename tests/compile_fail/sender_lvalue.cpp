// A sender takes the item out of its operation, so the caller gives it up.
// diagnostic: as_sender takes over its operation
// diagnostic: as_sender takes over its operation
#include <tryst/exchanger.hpp>
#include <tryst/execution.hpp>

#include <utility>

void refused(tryst::exchanger<int>& ex) {
    auto named = ex.exchange(1);
#if MISTAKE == 1
    static_cast<void>(tryst::as_sender(named));
#elif MISTAKE == 2
    const auto fixed = ex.exchange(2);
    static_cast<void>(tryst::as_sender(std::move(fixed)));
#else
    static_cast<void>(tryst::as_sender(std::move(named)));
#endif
}
