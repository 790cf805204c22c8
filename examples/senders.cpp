// Two senders swap strings in a thread pool and on a loop of tryst.
#include <tryst/execution.hpp>
#include <tryst/tryst.hpp>

#include <exec/static_thread_pool.hpp>
#include <stdexec/execution.hpp>

#include <iostream>
#include <string>
#include <thread>
#include <tuple>

namespace ex = stdexec;

int main() {
    tryst::exchanger<std::string> meeting;
    exec::static_thread_pool pool(1);
    tryst::run_loop loop;
    std::thread runner([&loop] { loop.run(); });

    auto item = [](auto result) { return *std::move(result); };
    auto a = ex::starts_on(pool.get_scheduler(), tryst::as_sender(meeting.exchange("a"))) |
             ex::then(item);
    auto b = ex::starts_on(loop.get_scheduler(), tryst::as_sender(meeting.exchange("b"))) |
             ex::then(item);
    const auto [first, second] = ex::sync_wait(ex::when_all(std::move(a), std::move(b))).value();
    std::cout << "got " << first << "\ngot " << second << '\n';

    loop.stop();
    runner.join();
}
