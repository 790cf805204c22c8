// SPDX-License-Identifier: MIT
#include "loop_monitor.hpp"

#include <algorithm>
#include <utility>

namespace pairing {

loop_monitor::loop_monitor(asio::io_context& own, std::vector<asio::io_context*> watched,
                           std::chrono::milliseconds patience)
    : own_(own), patience_(patience), changed_(own) {
    states_.reserve(watched.size());
    for (asio::io_context* each : watched) {
        states_.push_back({.loop = each, .sent_at = {}});
    }
}

void loop_monitor::ping(state& which) {
    if (which.sent != which.answered) {
        return; // the last ping is still in the queue
    }
    ++which.sent;
    which.sent_at = clock::now();
    asio::post(*which.loop, [this, &which] {
        asio::post(own_, [this, &which] {
            which.answered = which.sent;
            changed_.cancel();
        });
    });
}

awaitable<std::string> loop_monitor::find_stuck_loops() {
    std::vector<std::uint64_t> expected;
    expected.reserve(states_.size());
    for (state& each : states_) {
        ping(each);
        expected.push_back(each.sent);
    }
    while (true) {
        const auto now = clock::now();
        auto deadline = clock::time_point::max();
        bool all_answered = true;
        std::string stuck;
        for (std::size_t i = 0; i != states_.size(); ++i) {
            const state& each = states_[i];
            if (each.has_answered(expected[i])) {
                continue;
            }
            all_answered = false;
            deadline = std::min(deadline, each.sent_at + patience_);
            if (each.sent_at + patience_ <= now) {
                const auto silence = std::chrono::floor<std::chrono::seconds>(now - each.sent_at);
                stuck += "loop " + std::to_string(i) + " has not answered for " +
                         std::to_string(silence.count()) + " s\n";
            }
        }
        if (all_answered || !stuck.empty()) {
            co_return stuck;
        }
        // Checks share the timer. Setting it to the same time again would wake the other checks,
        // and they would wake this one, without end.
        if (changed_.expiry() != deadline) {
            changed_.expires_at(deadline);
        }
        co_await changed_.async_wait(use_tuple);
    }
}

} // namespace pairing
