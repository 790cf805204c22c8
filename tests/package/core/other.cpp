// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include <string>
#include <utility>

tryst::task<std::string> swap_elsewhere(tryst::exchanger<std::string>& ex, std::string mine) {
    auto got = co_await ex.exchange(std::move(mine));
    co_return got ? *std::move(got) : std::string();
}
