// The own item is in it, if the exchange failed.
// diagnostic: (ignoring return.* declared with|attribute) .*nodiscard
#include <tryst/tryst.hpp>

#if MISTAKE
void refused(tryst::exchanger<int>& ex) {
    tryst::sync_wait(ex.exchange(1));
}
#endif
