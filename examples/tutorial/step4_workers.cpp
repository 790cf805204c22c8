// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using belt = tryst::channel<std::string>;

tryst::task<> pack(belt& out, std::vector<std::string> orders) {
    for (auto& parcel : orders) {
        auto sent = co_await out.send(std::move(parcel));
        if (!sent) {
            co_return;
        }
    }
    out.close();
}

tryst::task<> ship(belt& in, int& shipped) {
    while (auto got = co_await in.receive()) {
        co_await tryst::sleep_for(1ms);
        ++shipped;
    }
}

tryst::task<> shop(std::vector<std::string> orders) {
    belt parcels(8);
    int shipped = 0;
    tryst::task_scope couriers;
    for (int i = 0; i != 4; ++i) {
        couriers.spawn(ship(parcels, shipped));
    }
    co_await pack(parcels, std::move(orders));
    co_await couriers.join();
    std::cout << "4 couriers shipped " << shipped << " parcels\n";
}

int main() {
    tryst::run_loop loop;
    std::vector<std::string> orders(20, "book");
    loop.run(shop(std::move(orders)));
}
