// SPDX-License-Identifier: MIT
/// @file
/// A simulated machine: cores that have a time of their own, and cache lines that move between
/// cores.
#pragma once

#include "costs.hpp"
#include "region.hpp"

#include <algorithm>
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
 * 4. A read shares the line. But if the line's owner has written it and the machine `reads_take`,
 *    a read takes the line: the reader may write it at once, and the writer has lost it. AMD's
 *    processors do so.
 * 5. An update (any read-modify-write) takes place at the end of its time. So a core may lose a
 *    line between a load and a compare-and-exchange, as a real core does, whose loads run ahead.
 * 6. A store does not wait for its line: it stays in a store buffer until the line comes, while the
 *    core goes on. An update waits until the buffer is empty. Only if other requests of the line
 *    are under way, a store waits for them.
 * 7. While an update waits for its line, its core runs ahead. So up to `run_ahead` of the
 *    instructions that follow cost nothing.
 * 8. The cores are divided into sockets. If the line must come from another socket, or if a core of
 *    another socket must lose it, the time is longer.
 *
 * Requests of different lines do not wait for each other. Connections, directories and store
 * buffers are never full, and all cores of a socket are equally far apart. No line is evicted. A
 * line that no core has had yet costs nothing. Except for stores, a core waits for one line at a
 * time. A real core fetches several at once if no address depends on the content of another line.
 * So two threads hand a lock to each other 1.6 times as fast in reality. */
class machine {
public:
    static constexpr unsigned max_cores = 128;
    static constexpr picoseconds never = std::numeric_limits<picoseconds>::max();

    /// @param sockets  by which the cores are divided into equal parts.
    /// @param jitter   how much the times of `spend_about` and of requests vary, up or down, as a
    ///   share.
    machine(unsigned cores, unsigned sockets, const costs& prices, std::uint64_t seed,
            double jitter);
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

    void read(const void* address, picoseconds local) { access(address, use::read, local); }
    void store(const void* address, picoseconds local) { access(address, use::store, local); }
    void update(const void* address, picoseconds local) { access(address, use::update, local); }
    /// Fetches the line, so that the core can write it.
    void own(const void* address) { access(address, use::prefetch, 0); }

    void spend(picoseconds time) noexcept {
        if (current_ != nobody) {
            core_state& me = all_[current_];
            const picoseconds done = std::min(time, me.ahead);
            me.ahead -= done;
            me.time += time - done;
        }
    }
    /// Spends a time that varies by the jitter.
    void spend_about(picoseconds time) noexcept { spend(about(time)); }
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
    using core_set = std::bitset<max_cores>;

    struct core_state {
        boost::context::fiber inside;
        std::function<void()> body;
        picoseconds time = 0;
        picoseconds stored_at = 0; ///< When the last store is out of the store buffer.
        picoseconds ahead = 0; ///< Time of the following instructions that a miss has hidden.
        const void* bed = nullptr;
        bool ended = false;
    };

    struct line {
        picoseconds free_at = 0; ///< When the next request may be served.
        std::uint16_t owner = none;
        bool moving = false; ///< To its next owner.
        bool touched = false;
        bool written = false; ///< By its owner; or a request to write it is under way.
        std::uint16_t latest = none; ///< The core that made the latest request to have it alone.
        core_set readers; ///< The owner is one.
    };

    line& line_of(const void* address);
    enum class use : std::uint8_t { read, store, update, prefetch };
    void access(const void* address, use how, picoseconds local);
    void fetch(line& of, bool write);
    void fetch_for_store(line& of);
    picoseconds time_to_fetch(const line& of, bool write) const noexcept;
    bool is_far(const line& of, bool write) const noexcept;
    unsigned socket_of(unsigned core) const noexcept { return core * sockets_ / cores_; }

    /// Lets earlier cores run first.
    void wait_for_turn() {
        if (all_[current_].time > next_time_) {
            leave();
        }
    }
    void leave();
    picoseconds about(picoseconds time) noexcept;

    // A tournament of the cores' times. The winner is the earliest core, and the first of equal
    // ones.
    static constexpr unsigned leaves = 256;
    void play(unsigned core, picoseconds time) noexcept;
    unsigned winner() const noexcept { return winners_[1]; }

    static machine* here_;

    unsigned cores_;
    unsigned sockets_;
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
    std::vector<core_set> on_socket_;
    std::vector<std::vector<void*>> owned_;
    std::vector<picoseconds> times_;
    std::vector<std::uint16_t> winners_;
};

} // namespace tryst::scale
