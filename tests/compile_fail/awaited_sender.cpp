// `co_await` returns one type.
// diagnostic: the sender sends values in several ways
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

tryst::task<> work() {
#if MISTAKE == 1
    co_await tryst::execution::as_awaitable(two_ways());
#else
    co_await tryst::execution::as_awaitable(stdexec::just());
#endif
}
