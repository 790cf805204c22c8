// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <iostream>
#include <stop_token>
#include <string>
#include <vector>

using belt = tryst::synchronous_channel<std::string>;

tryst::task<> pack(belt& air, belt& road, std::vector<std::string> orders) {
    for (auto& parcel : orders) {
        belt& out = parcel.starts_with("urgent") ? air : road;
        auto sent = co_await out.send(std::move(parcel));
        if (!sent) {
            co_return;
        }
    }
}

tryst::task<> ship(belt& air, belt& road, std::stop_token stop) {
    while (auto got = co_await tryst::select(air.receive(), road.receive(), stop)) {
        if (got.index() == 0) {
            std::cout << "by air: " << *got.get<0>() << '\n';
        } else {
            std::cout << "by road: " << *got.get<1>() << '\n';
        }
    }
}

tryst::task<> shop(std::vector<std::string> orders) {
    belt air;
    belt road;
    tryst::task_scope couriers;
    for (int i = 0; i != 4; ++i) {
        couriers.spawn(ship(air, road, couriers.get_stop_token()));
    }
    co_await pack(air, road, std::move(orders));
    couriers.request_stop();
    co_await couriers.join();
}

int main() {
    tryst::run_loop loop;
    loop.run(shop({"books", "urgent medicine", "tea"}));
}
