// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <chrono>
#include <iostream>
#include <stop_token>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using belt = tryst::synchronous_channel<std::string>;

tryst::task<> pack(belt& out, std::vector<std::string> orders, std::stop_source& evening) {
    for (auto& parcel : orders) {
        auto sent = co_await out.send(std::move(parcel), 20ms);
        if (!sent) {
            std::cout << "kept " << sent.returned() << ": " << sent.error().message() << '\n';
        }
    }
    evening.request_stop();
}

tryst::task<> ship(belt& in, std::stop_token stop) {
    while (auto got = co_await in.receive(stop)) {
        std::cout << "shipped " << *got << '\n';
        co_await tryst::sleep_for(1h, stop);
    }
    std::cout << "courier home\n";
}

int main() {
    tryst::run_loop loop;
    belt parcels;
    std::stop_source evening;
    loop.run(tryst::when_all(pack(parcels, {"books", "tea"}, evening),
                             ship(parcels, evening.get_token())));
}
