// SPDX-License-Identifier: MIT
/// @file
/// The four choices of limits that a wait may have.
#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <stop_token>
#include <utility>

namespace tryst::test {

enum class limit : std::uint8_t { none, stop, deadline, both };

inline constexpr limit all_limits[] = {limit::none, limit::stop, limit::deadline, limit::both};

constexpr bool has_stop(limit l) noexcept {
    return l == limit::stop || l == limit::both;
}
constexpr bool has_deadline(limit l) noexcept {
    return l == limit::deadline || l == limit::both;
}

constexpr const char* name_of(limit l) noexcept {
    constexpr const char* names[] = {"Unlimited", "Stoppable", "Timed", "StoppableAndTimed"};
    return names[static_cast<int>(l)];
}
inline void PrintTo(limit l, std::ostream* to) {
    *to << name_of(l);
}

/// Calls `use` with these limits as its arguments. It returns the same type for all of them.
template <class Use>
auto with_limits(limit how, std::chrono::steady_clock::time_point deadline, std::stop_token stop,
                 Use use) {
    switch (how) {
    case limit::stop:
        return use(std::move(stop));
    case limit::deadline:
        return use(deadline);
    case limit::both:
        return use(deadline, std::move(stop));
    default:
        return use();
    }
}

} // namespace tryst::test
