// SPDX-License-Identifier: MIT
/// @file
/// Parties that meet in an endless loop, in a simulation or on real processors: the same code,
/// compiled for either platform. `Memory` charges for accesses that the platform does not see; on
/// real processors it charges nothing.
#pragma once

#include <tryst/detail/platform/cpu.hpp>
#include <tryst/task.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tryst::scale {

/// The items that one party gave and received.
struct alignas(detail::line_pair) tally {
    std::int64_t exchanges = 0;
    std::uint64_t given = 0;
    std::uint64_t got = 0;

    void success(std::uint64_t mine, std::uint64_t theirs) noexcept {
        ++exchanges;
        given += scrambled(mine);
        got += scrambled(theirs);
    }

private:
    /// Scrambles, so that sums are equal only if the items are (Steele, Lea and Flood, "Fast
    /// splittable pseudorandom number generators", 2014, figure 16).
    static std::uint64_t scrambled(std::uint64_t x) noexcept {
        x = (x ^ (x >> 33U)) * 0xFF51AFD7ED558CCDU;
        x = (x ^ (x >> 33U)) * 0xC4CEB9FE1A85EC53U;
        return x ^ (x >> 33U);
    }
};

/// Returns whether each item that was given was received once, and, if parties meet in `pairs`,
/// whether the number of exchanges is even.
template <class Tallies>
bool conserved(const Tallies& tallies, bool pairs) noexcept {
    tally all;
    for (const tally& each : tallies) {
        all.exchanges += each.exchanges;
        all.given += each.given;
        all.got += each.got;
    }
    return (!pairs || all.exchanges % 2 == 0) && all.given == all.got;
}

/// The exchanged item. Its moves are the accesses of parties to each other's frames.
template <class Memory>
class item {
public:
    explicit item(std::uint64_t value) noexcept : value_(value) { Memory::write(this); }
    item(item&& other) noexcept : value_(other.value_) {
        Memory::read(&other);
        Memory::write(this);
    }
    item& operator=(item&& other) noexcept {
        Memory::read(&other);
        Memory::write(this);
        value_ = other.value_;
        return *this;
    }
    ~item() = default;

    std::uint64_t value() const noexcept { return value_; }

private:
    std::uint64_t value_;
};

/// The items of one party, all different.
class numbers {
public:
    explicit numbers(std::size_t party) noexcept : next_(std::uint64_t{party} << 40U) {}
    std::uint64_t next() noexcept { return ++next_; }

private:
    std::uint64_t next_;
};

/// An operation whose suspensions count as turns of a loop.
template <class Memory, class Make>
class [[nodiscard]] taking_turns {
public:
    explicit taking_turns(Make make) noexcept : operation_(make()) {}

    bool await_ready() noexcept { return operation_.await_ready(); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        const bool suspended = operation_.await_suspend(coroutine);
        if (suspended) { // and the frame may be gone
            Memory::turn();
        }
        return suspended;
    }
    auto await_resume() noexcept { return operation_.await_resume(); }

private:
    decltype(std::declval<Make&>()()) operation_;
};

template <class Memory, class Make>
auto in_turns(Make make) noexcept {
    return taking_turns<Memory, Make>(make);
}

/// A coroutine that meets others until the meeting is closed. `Red` is its side, if there are two.
template <bool Red, class Meeting>
task<> meet_for_ever(Meeting& at, std::size_t party, tally& mine) {
    using memory = typename Meeting::memory;
    numbers next(party);
    while (true) {
        const std::uint64_t own = next.next();
        auto got = co_await at.template meet<Red>(item<memory>(own));
        if (!got) {
            break;
        }
        mine.success(own, (*got).value());
        memory::work();
    }
}

/// The same on a thread.
template <bool Red, class Meeting, class Over>
void meet_until(Meeting& at, std::size_t party, tally& mine, Over over) {
    using memory = typename Meeting::memory;
    numbers next(party);
    while (!over()) {
        const std::uint64_t own = next.next();
        auto got = at.template wait<Red>(item<memory>(own));
        if (got) {
            mine.success(own, (*got).value());
        }
        memory::work();
    }
}

} // namespace tryst::scale
