// SPDX-License-Identifier: MIT
// What docs/futures.md shows, within a program.
#include "context.hpp"

#include <map>

void serve(tryst::promise<std::string> promise) {
    static_cast<void>(promise.set("served"));
}

tryst::task<std::string> be_served() {
#include "docs/futures.md/1"
    co_return *std::move(got);
}

#include "docs/futures.md/2"

#include "docs/futures.md/3"

template <class T>
tryst::task<> keep(tryst::task<T> of, T& result) {
    result = co_await std::move(of);
}

bool finds_by_number() {
    tryst::run_loop loop;
    replies all;
    std::optional<std::string> one;
    std::optional<std::string> two("none");
    loop.spawn(keep(all.wait_for(1), one));
    loop.spawn(keep(all.wait_for(2), two));
    loop.run_until_idle();
    all.receive(1, "one");
    all.receive(3, "late");
    all.lose();
    loop.run_until_idle();
    return one == "one" && !two;
}

bool asks() {
    tryst::run_loop loop;
    tryst::channel<question> questions(1);
    std::string answer;
    std::string none;
    loop.spawn(keep(ask(questions, "tea"), answer));
    loop.spawn(work(questions));
    loop.run_until_idle();
    questions.close();
    loop.spawn(keep(ask(questions, "milk"), none));
    loop.run_until_idle();
    return answer == "about tea" && none == "nobody works";
}

int main() {
    return tryst::sync_wait(be_served()) == "served" && finds_by_number() && asks() ? 0 : 1;
}
