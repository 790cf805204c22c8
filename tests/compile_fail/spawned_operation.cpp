// An exchange is awaited in a task, which can be spawned.
// diagnostic: this awaitable cannot be moved
#include <tryst/tryst.hpp>

auto refused(tryst::run_loop& loop, tryst::exchanger<int>& ex) {
#if MISTAKE
    return loop.spawn_future(ex.exchange(1));
#else
    return loop.spawn_future([](tryst::exchanger<int>& at) -> tryst::task<bool> {
        auto got = co_await at.exchange(1);
        co_return got.has_value();
    }(ex));
#endif
}
