// The result of spawned work needs a handle.
// diagnostic: spawn would lose the result; use spawn_future
#include <tryst/tryst.hpp>

void refused(tryst::run_loop& loop, tryst::task<int> work) {
#if MISTAKE
    loop.spawn(std::move(work));
#else
    auto handle = loop.spawn_future(std::move(work));
#endif
}
