#include "meet.hpp"

#include <tryst/libevent.hpp>

int main() {
    meeting all;
    event_base* const base = event_base_new();
    {
        tryst::libevent::executor executor(base);
        meet_on(executor, all, [base] { event_base_loopbreak(base); });
        event_base_dispatch(base);
    }
    event_base_free(base);
    return all.good == 2 ? 0 : 1;
}
