// The coroutine would be resumed elsewhere than its author means.
// diagnostic: promise_type::executor.. must be const and noexcept
#include <tryst/tryst.hpp>

struct job {
    struct promise_type {
        job get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept {}
#if MISTAKE
        tryst::run_loop& executor() const noexcept { return *loop; }
#else
        tryst::executor_ref executor() const noexcept { return loop->executor(); }
#endif
        tryst::run_loop* loop = nullptr;
    };
};

job refused(tryst::exchanger<int>& ex) {
    auto got = co_await ex.exchange(1);
    static_cast<void>(got);
}
