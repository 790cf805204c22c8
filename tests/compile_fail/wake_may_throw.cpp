// The functions of a wake do not throw.
// diagnostic: set_timer and cancel_timer must both be there, and noexcept
#include <tryst/loop_executor.hpp>

#include <chrono>

struct wake_source {
    explicit wake_source(tryst::loop_turns&) {}
    void wake() noexcept {}
#if MISTAKE
    void set_timer(std::chrono::nanoseconds) {}
#else
    void set_timer(std::chrono::nanoseconds) noexcept {}
#endif
    void cancel_timer() noexcept {}
};

void refused() {
    const tryst::loop_executor<wake_source> executor;
}
