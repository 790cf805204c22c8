// At most one time and one stop token, after the other arguments.
#include <tryst/exchanger.hpp>
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/select.hpp>
#include <tryst/synchronous_channel.hpp>
#include <tryst/task.hpp>
#include <tryst/when_any.hpp>

#include <chrono>
#include <stop_token>
#include <vector>

using namespace std::chrono_literals;

tryst::task<> wait(tryst::exchanger<int>& ex, tryst::red_blue_exchanger<int>& sides,
                   tryst::synchronous_channel<int>& ch, std::stop_source source) {
    const auto soon = std::chrono::steady_clock::now() + 5ms;
    const std::stop_token stop = source.get_token();
    std::vector<tryst::synchronous_channel<int>*> all{&ch};
    const auto receive = [](auto* each) { return each->receive(); };
    const auto swap = [&](auto until) { return ex.exchange(1, until); };
#if MISTAKE == 1 // an operation takes one duration or one time point, not two
    const auto got = co_await ex.exchange(1, 5ms, soon);
#elif MISTAKE == 2 // an operation takes one stop token, not two
    const auto got = co_await sides.red(1, stop, stop);
#elif MISTAKE == 3 // a deadline is a time point of the std::chrono::steady_clock
    const auto got = co_await sides.blue(1, std::chrono::system_clock::now() + 5ms);
#elif MISTAKE == 4 // a number is no time limit, it needs a unit
    const auto got = co_await ch.send(1, 5);
#elif MISTAKE == 5 // the last arguments of an operation are its limits
    const auto got = co_await ch.receive(source);
#elif MISTAKE == 6 // an operation takes one duration or one time point, not two
    const auto got = co_await tryst::select(ch.receive(), ex.exchange(1), 5ms, soon);
#elif MISTAKE == 7 // a try_ operation does not wait, so it takes no limit
    const auto got = ex.try_exchange(1, 5ms);
#elif MISTAKE == 8 // a try_ operation does not wait, so it takes no limit
    const auto got = sides.try_red(1, 5ms, stop);
#elif MISTAKE == 9 // the arguments of when_any are functions .*, then its limits
    static_cast<void>(tryst::when_any(5ms, swap));
#elif MISTAKE == 10 // an operation takes one duration or one time point, not two
    static_cast<void>(tryst::when_any(swap, 5ms, soon));
#else
    const auto got = co_await ex.exchange(1, 5ms, stop);
    const auto red = co_await sides.red(1, stop, soon);
    const auto sent = co_await ch.send(1, 1.5s);
    const auto received = co_await ch.receive(soon, stop);
    const auto one = co_await tryst::select(ch.receive(), ex.exchange(1), 5ms, stop);
    const auto some = co_await tryst::select_from(all, receive, stop, 5ms);
    auto any = co_await tryst::when_any(swap, 5ms, stop);
#endif
}
