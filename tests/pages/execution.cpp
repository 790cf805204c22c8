// SPDX-License-Identifier: MIT
// What docs/execution.md shows, within a program.
#include "context.hpp"

#include <tryst/execution.hpp>

#include <exec/static_thread_pool.hpp>
#include <exec/when_any.hpp>
#include <stdexec/execution.hpp>

using buffer = std::string;

buffer keep;

stdexec::task<buffer> stage(tryst::exchanger<buffer>& ex, buffer full) {
#include "docs/execution.md/4"
    co_return got ? *std::move(got) : std::move(got).returned();
}

tryst::task<int> compute(exec::static_thread_pool& pool, std::stop_token stop) {
#include "docs/execution.md/5"
    co_return answer; // on the executor of the task again
}

int main() {
    tryst::exchanger<buffer> ex;
    {
#include "docs/execution.md/2"
        auto [got] = stdexec::sync_wait(std::move(swap)).value();
        keep = std::move(got);
    }
    std::cout << keep << '\n';
    {
#include "docs/execution.md/3"
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
