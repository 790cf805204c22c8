// SPDX-License-Identifier: MIT
/// @file
/// Partners that wait, so that a party is never suspended.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/synchronous_channel.hpp>
#include <tryst/task.hpp>

namespace tryst::test {

/// The most operations of one party that may complete before it lets other work run.
inline constexpr int budget = detail::most_completions;

/// Awaits the operation that `make` makes.
template <class Make>
task<> wait_once(Make make) {
    auto got = co_await make();
    static_cast<void>(got);
}

/// Coroutines that wait on a loop that does not run, so none of them comes twice.
class waiting_partners {
public:
    static constexpr int count = 1'000;

    /// @param make  makes the operation of each.
    template <class Make>
    explicit waiting_partners(Make make) {
        for (int i = 0; i != count; ++i) {
            loop_.spawn(wait_once(make));
        }
        loop_.run_until_idle();
    }
    explicit waiting_partners(synchronous_channel<int>& channel)
        : waiting_partners([&channel] { return channel.receive(); }) {}

private:
    run_loop loop_;
};

/// Sends to all of them. Never suspended, but for its budget.
inline task<> send_all(synchronous_channel<int>& channel, int& done) {
    while (done != waiting_partners::count) {
        auto sent = co_await channel.send(done);
        if (!sent) {
            co_return;
        }
        ++done;
    }
}

} // namespace tryst::test
