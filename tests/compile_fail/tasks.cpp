// A task is moved, only a task is spawned, and no result is lost.
#include <tryst/tryst.hpp>

#include <utility>

tryst::task<bool> trade(tryst::exchanger<int>& ex) {
#if MISTAKE == 1 // clang: nodiscard
    co_await ex.exchange(1);
#else
    auto got = co_await ex.exchange(1);
    co_return got.has_value();
#endif
}

void run(tryst::run_loop& loop, tryst::exchanger<int>& ex) {
    auto work = trade(ex);
#if MISTAKE == 2 // nodiscard
    tryst::sync_wait(ex.exchange(1));
#elif MISTAKE == 3 // to await or pass a task that has a name, write std::move
    loop.run(work);
#elif MISTAKE == 4 // this awaitable cannot be moved
    auto handle = loop.spawn_future(ex.exchange(1));
#elif MISTAKE == 5 // spawn would lose the result
    loop.spawn(std::move(work));
#else
    static_cast<void>(tryst::sync_wait(ex.exchange(1)));
    auto handle = loop.spawn_future(trade(ex));
    loop.run(std::move(work));
#endif
}
