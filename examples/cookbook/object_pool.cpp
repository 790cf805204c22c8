// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <utility>

struct connection {
    int queries = 0;
};
using pool = tryst::channel<std::unique_ptr<connection>>;

struct give_back { // the deleter of a borrowed connection
    pool* to;
    void operator()(connection* used) const {
        (void)to->try_send(std::unique_ptr<connection>(used)); // there is room
    }
};
using borrowed = std::unique_ptr<connection, give_back>;

tryst::task<> query(pool& from, int& most) {
    auto got = co_await from.receive(); // waits while all are in use
    if (got) {
        borrowed link(got->release(), give_back{&from});
        most = std::max(most, ++link->queries);
        co_await tryst::current_executor().schedule(); // others run meanwhile
    }
}

tryst::task<> run() {
    pool connections(2);
    (void)connections.try_send(std::make_unique<connection>());
    (void)connections.try_send(std::make_unique<connection>());
    int most = 0;
    tryst::task_scope clients;
    for (int i = 0; i != 6; ++i) {
        clients.spawn(query(connections, most));
    }
    co_await clients.join();
    std::cout << connections.size() << " connections, " << most << " queries each\n";
}

int main() {
    tryst::run_loop().run(run());
}
