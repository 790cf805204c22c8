// SPDX-License-Identifier: MIT
/// @file
/// A simulated machine: cores that have a time of their own, and cache lines that move between
/// cores.
#pragma once

#include "costs.hpp"
#include "region.hpp"

#include <bitset>
#include <boost/context/fiber.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace tryst::scale {

/* The machine
 * 1. The earliest core always runs, up to its next access to memory at which it is no longer the
 *    earliest. So accesses take place in the order of their times, and memory is sequentially
 *    consistent.
 * 2. A line is owned by one core, which may write it; or shared by cores that may read it; or on
 *    its way.
 * 3. A core that needs a line sends a request, which is served after earlier requests of that line:
 *      the request is on the way  time `request`: other cores still have the line and may use it
 *      the line is on the way     until access is granted; no core has a line that will be written
 *      granted                    the core makes its access, and goes on until another core asks
 *
 * Requests of different lines do not wait for each other. Connections and directories are never
 * full, and all cores are equally far apart. No line is evicted. A line that no core has had yet
 * costs nothing. */
class machine {
public:
    static constexpr unsigned max_cores = 128;
    static constexpr picoseconds never = std::numeric_limits<picoseconds>::max();

    /// @param jitter  how much the time of `spend_about` varies, up or down, as a share.
    machine(unsigned cores, const costs& prices, std::uint64_t seed, double jitter);
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;
    ~machine();

    /// Returns the current machine.
    static machine& here() noexcept { return *here_; }

    /// Runs `body` as the next core, starting at `start`. Beyond the last core it is an observer,
    /// whose accesses cost nothing and move no line.
    void add(picoseconds start, std::function<void()> body);

    /// Ends the program if all cores sleep, or after more accesses than `limit`.
    void run(std::uint64_t limit);

    // ---- On a core.

    void read(const void* address, picoseconds local) { access(address, false, local); }
    void write(const void* address, picoseconds local) { access(address, true, local); }

    void spend(picoseconds time) noexcept {
        if (current_ != nobody) {
            all_[current_].time += time;
        }
    }
    /// Spends a time that varies by the jitter.
    void spend_about(picoseconds time) noexcept;
    void idle_until(picoseconds time);

    /// Sleeps until woken, unless `changed` returns true.
    void sleep(const void* address, const std::function<bool()>& changed);
    void wake(const void* address);

    unsigned core() const noexcept { return current_; }
    unsigned cores() const noexcept { return cores_; }
    picoseconds now() const noexcept {
        return current_ == nobody ? outside_time_ : all_[current_].time;
    }
    /// Outside of all cores, lets time pass, so that patience ends there, too.
    void pass_outside() noexcept { outside_time_ += 1'000'000; }
    const costs& prices() const noexcept { return prices_; }
    std::uint64_t accesses() const noexcept { return accesses_; }
    std::uint64_t transfers() const noexcept { return transfers_; }
    std::uint64_t random() noexcept;

    /// Returns the object of one type that belongs to the running core, or to the code outside of
    /// all cores.
    void*& own(std::size_t type);

private:
    static constexpr unsigned nobody = max_cores + 1;
    static constexpr std::uint16_t none = 0xFFFF;

    struct core_state {
        boost::context::fiber inside;
        std::function<void()> body;
        picoseconds time = 0;
        const void* bed = nullptr;
        bool ended = false;
    };

    struct line {
        picoseconds free_at = 0; ///< When the next request may be served.
        std::uint16_t owner = none;
        bool moving = false; ///< To its next owner.
        bool touched = false;
        std::bitset<max_cores> readers; ///< The owner is one.
    };

    line& line_of(const void* address);
    void access(const void* address, bool write, picoseconds local);
    void fetch(line& of, bool write);

    /// Lets earlier cores run first.
    void wait_for_turn() {
        if (all_[current_].time > next_time_) {
            leave();
        }
    }
    void leave();

    // A tournament of the cores' times. The winner is the earliest core, and the first of equal
    // ones.
    static constexpr unsigned leaves = 256;
    void play(unsigned core, picoseconds time) noexcept;
    unsigned winner() const noexcept { return winners_[1]; }

    static machine* here_;

    unsigned cores_;
    costs prices_;
    double jitter_;
    std::uint64_t random_;
    unsigned current_ = nobody;
    picoseconds next_time_ = never;
    std::uint64_t accesses_ = 0;
    std::uint64_t transfers_ = 0;
    boost::context::fiber outside_;
    std::vector<core_state> all_;
    picoseconds outside_time_ = 0;
    std::vector<line> lines_;
    std::vector<std::vector<void*>> owned_;
    std::vector<picoseconds> times_;
    std::vector<std::uint16_t> winners_;
};

} // namespace tryst::scale
