// SPDX-License-Identifier: MIT
// What docs/statistics.md shows, within a program.
#include "context.hpp"

using buffer = std::string;
using request = int;
using reply = std::string;
using job = int;

#include "docs/statistics.md/1"

int main() {
#include "docs/statistics.md/2"

    static_cast<void>(first.try_exchange("mine"));
    static_cast<void>(second.try_exchange("mine"));
    static_cast<void>(desk.try_red(1));
    static_cast<void>(jobs.try_receive());
    print(std::cout);
    std::cout << all.stats().no_partner << ' ' << desk.stats().no_partner << ' '
              << jobs.stats().no_partner << '\n';
}
