// SPDX-License-Identifier: MIT
/// @file
/// Small tasks that tests of loops, scopes and joins run.
#pragma once

#include "support/tracked.hpp"

#include <tryst/exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/task.hpp>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tryst::test {

inline constexpr run_loop_options sleep_at_once{.max_spins = 0};

template <class T>
task<T> give(T value) {
    co_return value;
}
inline task<> append(std::vector<int>& log, int number) {
    log.push_back(number);
    co_return;
}
template <class T = void>
task<T> fail(std::string why) {
    throw std::runtime_error(why);
    co_return T();
}
/// Shows how long its frame lives, whether it starts or not.
inline task<> keep(tracked) {
    co_return;
}
/// Lets the loop go on to other work so many times.
template <class Loop>
task<> turns(Loop& loop, int count) {
    for (int i = 0; i != count; ++i) {
        co_await loop.schedule();
    }
}
inline task<> stop_loop(run_loop& loop) {
    loop.stop();
    co_return;
}
/// Ends on another loop than it began on.
inline task<int> hop(run_loop& there, int value) {
    co_await there.schedule();
    co_return there.running_here() ? value : -1;
}
inline task<int> swap(exchanger<int>& ex, int item) {
    auto got = co_await ex.exchange(item);
    co_return got ? *got : -1;
}

/// What `action` throws.
template <class Action>
std::string message_of(Action action) {
    try {
        action();
    } catch (const std::runtime_error& thrown) {
        return thrown.what();
    }
    return "nothing was thrown";
}

} // namespace tryst::test
