// SPDX-License-Identifier: MIT
#include "shared_state.hpp"

#include <fmt/format.h>

#include <chrono>

namespace pairing {

std::string shared_state::unready_reason() const {
    // While accepting fails, it is retried many times in this time.
    constexpr auto recently = std::chrono::seconds(1);
    if (draining) {
        return "the server is shutting down";
    }
    const auto counts = counters.now();
    if (counts.pauses != 0 && std::chrono::steady_clock::now() - counts.last_pause < recently) {
        return "accepting clients is paused for lack of descriptors";
    }
    if (!place->is_connected().value_or(true)) {
        return "Redis cannot be reached: " + place->problem();
    }
    return {};
}

std::vector<std::pair<std::string, std::uint64_t>> shared_state::samples() const {
    const auto counts = counters.now();
    std::vector<std::pair<std::string, std::uint64_t>> all{
        {"accepted", counts.accepted}, {"refused", counts.refused},
        {"active", counts.active},     {"waiting", all_rooms.count().visits},
        {"pauses", counts.pauses},     {"rooms", all_rooms.count().rooms},
    };
    if (const auto connected = place->is_connected()) {
        all.emplace_back("connected", *connected ? 1 : 0);
    }
    if (const auto now = place->stats()) {
        const auto longest =
            std::chrono::duration_cast<std::chrono::milliseconds>(now->longest_wait);
        all.emplace_back("room_arrivals", now->arrivals);
        all.emplace_back("room_exchanges", now->exchanges);
        all.emplace_back("room_longest_wait_milliseconds", longest.count());
    }
    for (const auto& each : outcomes) {
        all.emplace_back(each.name, counts.finished.at(static_cast<std::size_t>(each.which)));
    }
    return all;
}

std::string shared_state::line() const {
    std::string text;
    for (const auto& [name, value] : samples()) {
        text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
    }
    return text;
}

} // namespace pairing
