// A wrong executor would resume coroutines in a wrong place. Nothing in a wake may throw.
#include <tryst/tryst.hpp>

#include <chrono>

struct job {
    struct promise_type {
        job get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept {}
#if MISTAKE == 1 // promise_type::executor.. must be const and noexcept
        tryst::executor_ref executor() noexcept { return loop->executor(); }
#elif MISTAKE == 2 // promise_type::executor.. must be const and noexcept
        tryst::executor_ref executor() const { return loop->executor(); }
#elif MISTAKE == 3 // promise_type::executor.. must be const and noexcept
        tryst::run_loop& executor() const noexcept { return *loop; }
#else
        tryst::executor_ref executor() const noexcept { return loop->executor(); }
#endif
        tryst::run_loop* loop = nullptr;
    };
};

job exchange(tryst::exchanger<int>& ex) {
    auto got = co_await ex.exchange(1);
    static_cast<void>(got);
}

struct wake_source {
    explicit wake_source(tryst::loop_turns&) {}
    void wake() noexcept {}
#if MISTAKE == 4 // set_timer and cancel_timer must both be there, and noexcept
    void set_timer(std::chrono::nanoseconds) {}
#else
    void set_timer(std::chrono::nanoseconds) noexcept {}
#endif
    void cancel_timer() noexcept {}
};

void make_executor() {
    const tryst::loop_executor<wake_source> executor;
}
