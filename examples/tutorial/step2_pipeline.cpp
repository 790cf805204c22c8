// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <iostream>
#include <string>
#include <vector>

using belt = tryst::synchronous_channel<std::string>;

tryst::task<> pack(belt& out, std::vector<std::string> orders) {
    for (auto& parcel : orders) {
        auto sent = co_await out.send(std::move(parcel));
        if (!sent) {
            co_return;
        }
    }
    out.close();
}

tryst::task<> ship(belt& in) {
    while (auto got = co_await in.receive()) {
        std::cout << "shipped " << *got << '\n';
    }
    std::cout << "belt closed\n";
}

int main() {
    tryst::run_loop loop;
    belt parcels;
    loop.run(tryst::when_all(pack(parcels, {"books", "tea", "shoes"}), ship(parcels)));
}
