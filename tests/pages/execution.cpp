// SPDX-License-Identifier: MIT
// What docs/execution.md shows, within a program.
#include <tryst/execution.hpp>
#include <tryst/tryst.hpp>

#include <exec/static_thread_pool.hpp>
#include <exec/when_any.hpp>
#include <stdexec/execution.hpp>

#include <chrono>
#include <iostream>
#include <stop_token>
#include <string>
#include <utility>

using namespace std::chrono_literals;
using buffer = std::string;

buffer keep;

stdexec::task<buffer> stage(tryst::exchanger<buffer>& ex, buffer full) {
    auto sender = tryst::as_sender(ex.exchange(std::move(full)));
    auto got = co_await std::move(sender);
    co_return got ? *std::move(got) : std::move(got).returned();
}

tryst::task<int> compute(exec::static_thread_pool& pool, std::stop_token stop) {
    auto work = stdexec::schedule(pool.get_scheduler()) | stdexec::then([] { return 6 * 7; });
    int answer = co_await tryst::execution::as_awaitable(std::move(work), stop);
    co_return answer; // on the executor of the task again
}

int main() {
    tryst::exchanger<buffer> ex;
    {
        auto [a, b] = stdexec::sync_wait(stdexec::when_all(tryst::as_sender(ex.exchange("full")),
                                                           tryst::as_sender(ex.exchange("empty"))))
                          .value();
        std::cout << *a << ' ' << *b << '\n';
    }
    {
        auto swap = tryst::as_sender(ex.exchange("mine", 5ms)) | stdexec::then([](auto result) {
                        return result ? *std::move(result) : std::move(result).returned();
                    });
        auto [got] = stdexec::sync_wait(std::move(swap)).value();
        keep = std::move(got);
    }
    std::cout << keep << '\n';
    {
        auto swap = tryst::as_sender(ex.exchange("dropped if cancelled")) |
                    tryst::execution::stopped_if_cancelled |
                    stdexec::then([](auto result) { return result.has_value(); });
        auto [swapped] =
            stdexec::sync_wait(exec::when_any(std::move(swap), stdexec::just(false))).value();
        std::cout << swapped << '\n';
    }
    {
        auto [a, b] =
            stdexec::sync_wait(stdexec::when_all(stage(ex, "full"), stage(ex, "empty"))).value();
        std::cout << a << ' ' << b << '\n';
    }
    {
        exec::static_thread_pool pool(1);
        const std::stop_source source;
        std::cout << tryst::sync_wait(compute(pool, source.get_token())) << '\n';
    }
}
