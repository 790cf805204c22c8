// SPDX-License-Identifier: MIT
/// @file
/// Coroutines that make one exchange and leave its result for the test to look at.
#pragma once

#include "support/bare_coroutine.hpp"

#include <tryst/result.hpp>
#include <tryst/task.hpp>

#include <optional>

namespace tryst::test {

/// Empty while the exchange has not ended.
template <class T>
using received = std::optional<exchange_result<T>>;

/// Awaits the operation that `make` makes. On a loop.
template <class T, class Make>
task<> party(received<T>& got, Make make) {
    got.emplace(co_await make());
}

/// Likewise; on no executor, unless it is called on one.
template <class T, class Make>
bare_coroutine bare_party(received<T>& got, Make make) {
    got.emplace(co_await make());
}

} // namespace tryst::test
