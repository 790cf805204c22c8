// SPDX-License-Identifier: MIT
/// @file
/// Finds event loops that are stuck.
/// Tested by tests/examples/pairing_loop_monitor_test.cpp.
#pragma once

#include "asio_helpers.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pairing {

/// Posts a ping to each watched loop. A loop that runs answers after the work that it has already
/// begun. The monitor has a loop of its own, which is not watched, and is used on its thread only.
class loop_monitor {
    using clock = std::chrono::steady_clock;

public:
    /// All loops must outlive the monitor. The watched loops may outlive it, but must not run then.
    loop_monitor(asio::io_context& own, std::vector<asio::io_context*> watched,
                 std::chrono::milliseconds patience);

    /// Pings all loops, and waits until they have answered. A loop that has ended, because the
    /// server drains, needs no answer.
    /// @returns the loops that did not answer in time, in words; empty if all answered.
    awaitable<std::string> find_stuck_loops();

private:
    /// At most one ping is in the queue of a loop, however many checks there are.
    struct state {
        asio::io_context* loop;
        std::uint64_t sent = 0;
        std::uint64_t answered = 0;
        clock::time_point sent_at; ///< Of the last ping.

        bool has_answered(std::uint64_t ping) const { return answered >= ping || loop->stopped(); }
    };

    void ping(state& which);

    asio::io_context& own_;
    const std::chrono::milliseconds patience_;
    std::vector<state> states_; ///< Never grows, so that handlers may refer to the elements.
    asio::steady_timer changed_; ///< Cancelled when a loop answers.
};

} // namespace pairing
