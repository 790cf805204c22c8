// A sender takes over its operation. A sender that is awaited sends values in one way.
#include <tryst/exchanger.hpp>
#include <tryst/execution.hpp>
#include <tryst/task.hpp>

#include <stdexec/execution.hpp>

#include <utility>

struct two_ways {
    using sender_concept = stdexec::sender_t;
    using completion_signatures =
        stdexec::completion_signatures<stdexec::set_value_t(int), stdexec::set_value_t()>;
    template <class Receiver>
    auto connect(Receiver receiver) const {
        return stdexec::connect(stdexec::just(), std::move(receiver));
    }
};

tryst::task<> work(tryst::exchanger<int>& ex) {
    auto named = ex.exchange(1);
    const auto fixed = ex.exchange(2);
#if MISTAKE == 1 // as_sender takes over its operation
    static_cast<void>(tryst::as_sender(named));
#elif MISTAKE == 2 // as_sender takes over its operation
    static_cast<void>(tryst::as_sender(std::move(fixed)));
#elif MISTAKE == 3 // the sender sends values in several ways
    co_await tryst::execution::as_awaitable(two_ways());
#else
    static_cast<void>(tryst::as_sender(std::move(named)));
    co_await tryst::execution::as_awaitable(stdexec::just());
#endif
}
