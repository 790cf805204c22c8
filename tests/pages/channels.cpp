// SPDX-License-Identifier: MIT
// What docs/channels.md shows, within a program. Its first block is the program.
#include "context.hpp"

#include "docs/channels.md/1"

namespace {

using request = std::string;
using requests = tryst::channel<request>;
struct index_file {};

int served = 0;
int rejected = 0;
void serve(const request& /*served*/) {
    ++served;
}
void reject(const request& /*rejected*/) {
    ++rejected;
}
bool open_service() {
    return true;
}
bool close_service() {
    return true;
}

#include "docs/channels.md/2"

#include "docs/channels.md/3"

#include "docs/channels.md/4"

#include "docs/channels.md/5"

#include "docs/channels.md/6"

#include "docs/channels.md/7"

#include "docs/channels.md/8"

#include "docs/channels.md/9"

void check(bool holds) {
    if (!holds) {
        std::abort();
    }
}

tryst::task<> answer_second(questions& from) {
    auto first = co_await from.receive();
    auto second = co_await from.receive();
    reply_to(*first, "late");
    reply_to(*second, "in time");
}

tryst::task<> use_service() {
    requests to(2);
    tryst::channel<bool> states(2);
    tryst::task_scope scope;
    scope.spawn(run_service(to, states));
    const bool started = co_await start(states);
    auto sent = co_await to.send("hello");
    const bool ended = co_await shut_down(to, states);
    co_await scope.join();
    check(started && sent && ended && served == 1);

    int places = 2;
    requests queue(1);
    tryst::task_scope workers;
    workers.spawn(work(queue));
    for (int i = 0; i != 4; ++i) { // one is queued, two make workers, one is rejected
        accept(queue, workers, places, "request");
    }
    queue.close();
    co_await workers.join();
    check(served == 4 && rejected == 1);

    questions all(1);
    auto reply = std::make_shared<answers>(2);
    question forgotten(1, "?", reply);
    auto asked = co_await all.send(std::move(forgotten));
    tryst::task_scope server;
    server.spawn(answer_second(all));
    auto got = co_await ask(all, reply, 2, "?");
    co_await server.join();
    check(asked && got == "in time");
}

// The first page's `main` runs its own program only, so this runs before it.
[[maybe_unused]] const bool works = [] {
    tryst::run_loop loop;
    loop.run(use_service());

    std::vector<std::string> lost;
    drop_connections(lost);
    check(lost == std::vector<std::string>{"first", "second"});

    jobs from(3);
    jobs to(3);
    for (const char* each : {"a", "b"}) {
        auto sent = from.try_send(each);
        check(static_cast<bool>(sent));
    }
    hand_on(from, to);
    to.close();
    std::vector<std::string> written;
    loop.run(write_all(to, written));
    check(written == std::vector<std::string>{"a", "b"});

    messages texts(4);
    auto heavy = texts.try_send("heavier");
    auto light = texts.try_send("");
    check(heavy && !light);

    disposer background;
    background.dispose(std::make_unique<index_file>());
    return true;
}();

} // namespace
