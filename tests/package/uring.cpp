#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

struct meeting {
    tryst::uring::context loop;
    tryst::exchanger<int> ex;
    int good = 0;
};

tryst::task<> meet(meeting& all, int mine, int theirs) {
    const auto slept = co_await all.loop.nop();
    // Program and library must agree on what runs here; otherwise a partner would resume us on its
    // stack.
    const bool at_home =
        all.loop.running_here() && tryst::current_executor() == all.loop.executor();
    const auto got = co_await all.ex.exchange(mine);
    all.good += slept && at_home && *got == theirs;
    if (all.good == 2) {
        all.loop.stop();
    }
}

int main() {
    meeting all;
    all.loop.spawn(meet(all, 1, 2));
    all.loop.spawn(meet(all, 2, 1));
    all.loop.run_until_idle();
    while (all.good != 2) {
        all.loop.run();
    }
    return 0;
}
