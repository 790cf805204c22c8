// SPDX-License-Identifier: MIT
// One coroutine serves 10,000 clients, each of which has a channel of its own. It waits for all of
// them with a case_set, whose cases stay registered, and, for comparison, with a selection that is
// made anew for each request.
#include <tryst/tryst.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <iostream>
#include <vector>

namespace {

using requests = tryst::synchronous_channel<int>;

constexpr std::size_t clients = 10'000;

tryst::task<> ask(requests& to, int count) {
    for (int i = 0; i != count; ++i) {
        auto sent = co_await to.send(1);
        if (!sent) {
            co_return;
        }
    }
    to.close(); // the server learns of it
}

tryst::task<> serve(std::deque<requests>& from, long& sum) {
    tryst::case_set<std::size_t, tryst::receive_case<requests>> inbox;
    for (std::size_t i = 0; i != from.size(); ++i) {
        inbox.add(from[i].receive(), i);
    }
    while (auto got = co_await inbox.next()) { // until the last client has left
        if (auto& request = got.get()) {
            sum += *request;
        }
    }
}

tryst::task<> serve_anew(std::deque<requests>& from, long& sum) {
    std::vector<requests*> open;
    for (requests& each : from) {
        open.push_back(&each);
    }
    auto listen = [](requests* each) { return each->receive(); };
    while (!open.empty()) {
        auto got = co_await tryst::select_from(open, listen);
        const auto which = static_cast<std::ptrdiff_t>(got.index());
        if (auto request = got.get()) {
            sum += *request;
        } else {
            open.erase(open.begin() + which);
        }
    }
}

/// @returns the nanoseconds for each request or close.
template <class Serve>
double measure(Serve serve, std::size_t count, int requests_each) {
    std::deque<requests> channels(count);
    tryst::run_loop loop;
    long sum = 0;
    loop.spawn(serve(channels, sum));
    for (requests& each : channels) {
        loop.spawn(ask(each, requests_each));
    }
    const auto begin = std::chrono::steady_clock::now();
    loop.run_until_idle();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    const long all = static_cast<long>(count) * requests_each;
    if (sum != all) {
        std::cerr << "lost " << all - sum << " requests\n";
    }
    return took.count() / static_cast<double>(all + static_cast<long>(count));
}

} // namespace

int main() {
    std::cout << clients << " channels, ns a request\n"
              << "a case_set:             " << measure(serve, clients, 20) << '\n'
              << "a selection made anew:  " << measure(serve_anew, clients, 1) << '\n';
}
