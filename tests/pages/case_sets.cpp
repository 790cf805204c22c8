// SPDX-License-Identifier: MIT
// What docs/case-sets.md shows, within a program.
#include "context.hpp"

using request = int;
struct connection {
    tryst::synchronous_channel<request> in;
    int served = 0;
};

void serve(request what, connection& from) {
    from.served += what;
}
int left = 0;
void leave(connection& /*from*/) {
    ++left;
}

#include "docs/case-sets.md/1"

tryst::task<> ask(connection& to) {
    for (int i = 0; i != 3; ++i) {
        auto sent = co_await to.in.send(1);
        static_cast<void>(sent);
    }
    to.in.close();
}

int main() {
    std::deque<connection> connections(5);
    tryst::run_loop loop;
    std::stop_source stop;
    loop.spawn(serve_all(connections, stop.get_token()));
    for (connection& each : connections) {
        loop.spawn(ask(each));
    }
    loop.run_until_idle();
    const bool all = std::ranges::all_of(connections, [](auto& each) { return each.served == 3; });
    return all && left == 5 ? 0 : 1;
}
