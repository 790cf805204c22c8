// SPDX-License-Identifier: MIT
/// @file
/// How often a loop without work polls before it sleeps.
/// Standard library only. Never allocates, blocks or throws. Simulated in
/// tests/unit/spin_policy_test.cpp; measured in docs/adr/0016.
#pragma once

#include <tryst/executor.hpp>

#include <algorithm>

namespace tryst::detail {

/* The rule (docs/adr/0016 has the reasons, and what else was tried)
 *  1. For mail that no partner owes to this loop, the loop learns how long to poll: `bound_` grows
 *     if polling has helped, and falls by half if it has not.
 *  2. A loop that has found its partner running expects an answer, and polls up to the limit. That
 *     goes on while the answers come in time: the two converse.
 *  3. A loop that had to wake its partner may poll up to the limit, too: a probe.
 *  4. After each failure, `distance_` doubles: the number of sleeps up to the next attempt. Each
 *     answer in time reduces it by one. A loop is ready to answer a probe after a quarter of them,
 *     so that two loops do not always miss each other's probes. */

/// What one loop knows about its waits.
class spin_policy {
public:
    /// @param limit  the maximum number of polls; 0: the loop sleeps at once.
    explicit constexpr spin_policy(unsigned limit) noexcept : limit_(limit), bound_(limit) {}

    /// A wait begins.
    /// @param seen  the partners that the loop has met since its last wait.
    /// @returns how often it may poll.
    unsigned begin(partners_seen seen) noexcept {
        expects_answer_ = seen.running;
        const bool probes = !seen.running && seen.sleeping && sleeps_ >= distance_;
        is_full_ = probes || (seen.running && (converses_ || sleeps_ >= distance_ / 4));
        if (probes) {
            fall_back(); // until an answer follows
        }
        return is_full_ ? limit_ : bound_;
    }

    /// The wait has ended after this many polls in vain.
    void found(unsigned polls) noexcept {
        if (expects_answer_ || !is_full_) { // a probe's wait says nothing about the next one
            bound_ = (std::max)(bound_, (std::min)(2 * polls + min_bound, limit_));
        }
        if (expects_answer_) {
            distance_ = (std::max)(distance_ - 1, 1U);
        }
        converses_ = expects_answer_ || is_full_;
    }

    /// All polls were in vain: the loop is about to sleep.
    void in_vain() noexcept {
        bound_ = (std::min)((std::max)(bound_ / 2, min_bound), limit_);
        if (expects_answer_ && is_full_) {
            fall_back();
        }
        ++sleeps_;
        converses_ = false;
    }

private:
    void fall_back() noexcept {
        distance_ = (std::min)(2 * distance_, max_distance);
        sleeps_ = 0;
    }

    static constexpr unsigned min_bound = 16;
    // On a shared processor, a probe takes ten times as long as an exchange by two sleeps. With
    // this distance it costs 4% there; with 64, 14%. Recovery may take as many exchanges.
    static constexpr unsigned max_distance = 256;

    unsigned limit_;
    unsigned bound_;
    unsigned distance_ = 1;
    unsigned sleeps_ = 0; ///< Since the last failure.
    bool expects_answer_ = false; ///< In this wait.
    bool is_full_ = false; ///< This wait may take up to the limit.
    bool converses_ = false;
};

} // namespace tryst::detail
