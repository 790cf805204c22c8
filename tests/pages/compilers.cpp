// SPDX-License-Identifier: MIT
// What docs/compilers.md shows.
#include "context.hpp"

#include <tryst/asio.hpp>

namespace {

#include "docs/compilers.md/1"

using exchanger = tryst::exchanger<message>;

[[maybe_unused]] auto* const names_all = &swap_twice;

[[maybe_unused]] tryst::task<> offer(exchanger& ex, message mine, std::stop_token stop) {
    auto got = co_await ex.exchange(std::move(mine), std::move(stop));
    static_cast<void>(got);
}

[[maybe_unused]] asio::awaitable<void> name_the_lambda(exchanger& ex, message mine) {
#include "docs/compilers.md/2"
}

using item = std::shared_ptr<const int>;

tryst::task<item> swap(tryst::exchanger<item>& ex, item mine) {
    auto got = co_await ex.exchange(std::move(mine));
    co_return *std::move(got);
}

[[maybe_unused]] tryst::task<> carry_an_item(tryst::exchanger<item>& ex, item first) {
#include "docs/compilers.md/3"
}

} // namespace
