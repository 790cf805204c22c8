// SPDX-License-Identifier: MIT
// What docs/coming-from.md shows, within a program.
#include "context.hpp"

using job = std::string;

int handled = 0;
void handle(const job& /*done*/) {
    ++handled;
}

#include "docs/coming-from.md/1"

tryst::task<> use_worker() {
    tryst::channel<job> jobs(2);
    tryst::task_scope scope;
    scope.spawn(work(jobs, scope.get_stop_token()));
    for (const char* each : {"one", "two", "three"}) {
        auto sent = co_await jobs.send(each);
        static_cast<void>(sent);
    }
    jobs.close(); // the worker handles what is left
    co_await scope.join();

    tryst::channel<job> none(1);
    scope.spawn(work(none, scope.get_stop_token()));
    scope.request_stop();
    co_await scope.join();
}

int main() {
    tryst::run_loop loop;
    loop.run(use_worker());
    return handled == 3 ? 0 : 1;
}
