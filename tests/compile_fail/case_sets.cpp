// SPDX-License-Identifier: MIT
// Sets of cases: each mistake, and the sentence that names it.
#include <tryst/case_set.hpp>
#include <tryst/channel.hpp>
#include <tryst/synchronous_channel.hpp>

#include <chrono>
#include <memory>
#include <utility>

using namespace std::chrono_literals;

struct throws_when_copied {
    throws_when_copied() = default;
    throws_when_copied(const throws_when_copied& /*other*/) {}
    throws_when_copied& operator=(const throws_when_copied&) = default;
    ~throws_when_copied() = default;
};

void mistakes() {
    tryst::synchronous_channel<int> a;
    tryst::channel<int> b(1);
    using receives = tryst::receive_case<tryst::synchronous_channel<int>>;
    tryst::case_set<int, receives> set;
    auto named = a.receive();
#if MISTAKE == 1 // a case_set names the types of its cases
    static_cast<void>(tryst::case_set<int>());
#elif MISTAKE == 2 // the cases of a case_set are what exchange, red, blue, send and receive
    static_cast<void>(tryst::case_set<int, tryst::synchronous_channel<int>>());
#elif MISTAKE == 3 // the cases of a case_set are what exchange, red, blue, send and receive
    static_cast<void>(tryst::case_set<int, decltype(a.receive(5ms))>());
#elif MISTAKE == 4 // a token of a case_set must have a copy constructor that does not throw
    static_cast<void>(tryst::case_set<std::unique_ptr<int>, receives>());
#elif MISTAKE == 5 // a token of a case_set must have a copy constructor that does not throw
    static_cast<void>(tryst::case_set<throws_when_copied, receives>());
#elif MISTAKE == 6 // add takes an operation of one of the set's types
    set.add(b.receive(), 1);
#elif MISTAKE == 7 // add takes an operation of one of the set's types
    set.add(named, 1);
#elif MISTAKE == 8 // a number is no time limit
    static_cast<void>(set.next(5));
#elif MISTAKE == 9 // a try_ operation does not wait, so it takes no limit
    static_cast<void>(set.try_next(5ms));
#else
    const auto it = set.add(std::move(named), 1);
    static_cast<void>(set.next(5ms));
    set.remove(it);
#endif
}
