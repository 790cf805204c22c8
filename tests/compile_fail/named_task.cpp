// A task that has a name is moved.
// diagnostic: to await or pass a task that has a name, write std::move
#include <tryst/tryst.hpp>

tryst::task<int> answer();

int refused(tryst::run_loop& loop) {
    auto task = answer();
#if MISTAKE
    return loop.run(task);
#else
    return loop.run(std::move(task));
#endif
}
