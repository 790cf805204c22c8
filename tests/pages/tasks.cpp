// SPDX-License-Identifier: MIT
// What docs/tasks.md shows. Its first block is a program; the others run before its `main`.
#include "context.hpp"

#include "docs/tasks.md/1"

namespace {

tryst::task<> serve(tryst::exchanger<int>& ex, std::stop_token stop) {
    auto got = co_await ex.exchange(1, stop);
    std::cout << (got ? "swapped\n" : "stopped\n");
}

#include "docs/tasks.md/2"

tryst::task<> tick(std::stop_token stop) {
#include "docs/tasks.md/3"
}

tryst::task<> both(tryst::exchanger<std::string>& ex) {
#include "docs/tasks.md/4"
    std::cout << *a << ' ' << *b << ' ' << c << '\n';
}

tryst::task<std::string> compute(tryst::inplace_stop_token stop) {
    const bool done = co_await tryst::sleep_for(1h, stop);
    co_return done ? "computed" : "nothing yet";
}

tryst::task<std::string> receive_or_compute(tryst::synchronous_channel<std::string>& in) {
#include "docs/tasks.md/5"
    co_return item ? *std::move(item) : got.get<1>();
}

tryst::task<std::string> ask(std::string host, tryst::inplace_stop_token stop) {
    const bool slow = host != "near";
    const bool done = co_await tryst::sleep_for(slow ? 1h : 0h, stop);
    co_return done ? host + " replied" : host + " was stopped";
}

tryst::task<std::string> ask_all(std::vector<std::string> hosts) {
#include "docs/tasks.md/6"
    co_return first.get(first.index());
}

[[maybe_unused]] const bool checked = []() noexcept {
    tryst::exchanger<int> ex;
    tryst::sync_wait(run_workers(ex));
    std::stop_source stop;
    stop.request_stop();
    tryst::sync_wait(tick(stop.get_token()));
    tryst::exchanger<std::string> texts;
    tryst::sync_wait(both(texts));
    tryst::synchronous_channel<std::string> in;
    std::cout << tryst::sync_wait(receive_or_compute(in)) << '\n';
    std::cout << tryst::sync_wait(ask_all({"far", "near"})) << '\n';
    return true;
}();

} // namespace
