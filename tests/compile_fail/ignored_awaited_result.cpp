// The own item is in it, if the exchange failed.
// diagnostic: ignoring return value of function declared with 'nodiscard'
#include <tryst/tryst.hpp>

tryst::task<> refused(tryst::exchanger<int>& ex) {
#if MISTAKE
    co_await ex.exchange(1);
#else
    static_cast<void>(co_await ex.exchange(1));
#endif
}
