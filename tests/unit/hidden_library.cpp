// SPDX-License-Identifier: MIT
#include "hidden_library.hpp"

#include <utility>

namespace tryst::test {
namespace {

task<int> returns(int number) {
    co_return number;
}

task<> counts(int& count) {
    ++count;
    co_return;
}

template <class Executor>
task<int> joins(Executor& on) {
    int count = 0;
    auto future = on.spawn_future(returns(3));
    task_scope scope;
    scope.spawn(counts(count));
    scope.spawn(counts(count));
    co_await scope.join();
    const int got = co_await future;
    co_return got + count;
}

task<> exchanges(exchanger<int>& at, int& theirs, token /*held*/) {
    const auto got = co_await at.exchange(1);
    theirs = got ? *got : -1;
}

} // namespace

std::error_code error_from_library(exchanger<int>& ex) {
    return ex.try_exchange(1).error();
}

void request_stop_in_library(inplace_stop_source& stop) {
    stop.request_stop();
}

#undef TRYST_TEST_EXECUTOR
#define TRYST_TEST_EXECUTOR(Executor)                                                              \
    bool runs_here(Executor& on) {                                                                 \
        return on.executor() == current_executor() && on.executor().running_here() &&              \
               on.executor().alone_here();                                                         \
    }                                                                                              \
    task<int> joins_in_library(Executor& on) {                                                     \
        return joins(on);                                                                          \
    }                                                                                              \
    void exchange_in_library(Executor& on, exchanger<int>& at, int& theirs, const token& held) {   \
        on.spawn(exchanges(at, theirs, held));                                                     \
    }                                                                                              \
    void destroy_in_library(std::unique_ptr<Executor> on) {                                        \
        on.reset();                                                                                \
    }
TRYST_TEST_CORE_EXECUTORS
#ifdef TRYST_TEST_ASIO
TRYST_TEST_EXECUTOR(asio::task_executor<>)
#endif

} // namespace tryst::test
