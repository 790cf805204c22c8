// Two tasks that swap items, and then stop their loop.
#include <tryst/tryst.hpp>

struct meeting {
    tryst::exchanger<int> ex;
    int good = 0;
};

template <class Stop>
tryst::task<> meet(meeting& all, int mine, int theirs, Stop stop) {
    const auto got = co_await all.ex.exchange(mine);
    all.good += *got == theirs;
    if (all.good == 2) {
        stop();
    }
}

template <class Executor, class Stop>
void meet_on(Executor& executor, meeting& all, Stop stop) {
    executor.spawn(meet(all, 1, 2, stop));
    executor.spawn(meet(all, 2, 1, stop));
}
