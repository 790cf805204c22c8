// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

namespace tryst::scale {

namespace {

/// Ends the program: fibers in the middle of the protocol cannot be unwound.
[[noreturn]] void give_up(const char* why) {
    std::fprintf(stderr, "\nscale_model: %s\n", why);
    std::_Exit(EXIT_FAILURE);
}

/// Puts the stacks of cores into the region, because the waiters of threads are on them.
struct stack_of_region {
    static constexpr std::size_t size = std::size_t{64} << 10U;

    boost::context::stack_context allocate() {
        boost::context::stack_context stack;
        stack.size = size;
        stack.sp = static_cast<std::byte*>(region::allocate(size, region::line_size)) + size;
        return stack;
    }
    void deallocate(boost::context::stack_context& /*stack*/) noexcept {}
};

} // namespace

machine* machine::here_ = nullptr;

machine::machine(unsigned cores, unsigned sockets, const costs& prices, std::uint64_t seed,
                 double jitter)
    : cores_(cores), sockets_(sockets), prices_(prices), jitter_(jitter), random_(seed * 2 + 1),
      lines_(region::line_count), on_socket_(sockets),
      owned_(64, std::vector<void*>(max_cores + 2, nullptr)), times_(leaves, never),
      winners_(std::size_t{2} * leaves) {
    all_.reserve(max_cores + 1);
    for (unsigned i = 0; i != cores; ++i) {
        on_socket_[socket_of(i)].set(i);
    }
    for (unsigned i = 0; i != leaves; ++i) {
        winners_[leaves + i] = static_cast<std::uint16_t>(i);
    }
    for (unsigned i = leaves - 1; i != 0; --i) {
        winners_[i] = winners_[std::size_t{2} * i];
    }
    here_ = this;
    region::begin();
}

machine::~machine() {
    region::end();
    here_ = nullptr;
}

void machine::add(picoseconds start, std::function<void()> body) {
    const auto index = static_cast<unsigned>(all_.size());
    all_.push_back({.inside = {}, .body = std::move(body), .time = start});
    all_.back().inside = boost::context::fiber(std::allocator_arg, stack_of_region(),
                                               [this, index](boost::context::fiber&& from) {
                                                   outside_ = std::move(from);
                                                   all_[index].body();
                                                   all_[index].ended = true;
                                                   return std::move(outside_);
                                               });
    play(index, start);
}

void machine::run(std::uint64_t limit) {
    for (std::size_t left = all_.size(); left != 0;) {
        current_ = winner();
        core_state& core = all_[current_];
        if (times_[current_] == never) {
            give_up("all cores sleep, so the simulation is stuck");
        }
        if (accesses_ > limit) {
            give_up("the simulation does not end");
        }
        play(current_, never);
        next_time_ = times_[winner()];
        core.inside = std::move(core.inside).resume();
        if (core.ended) {
            --left;
        } else {
            play(current_, core.bed == nullptr ? core.time : never);
        }
        current_ = nobody;
    }
}

void machine::leave() {
    outside_ = std::move(outside_).resume();
}

void machine::play(unsigned core, picoseconds time) noexcept {
    times_[core] = time;
    for (std::size_t i = (leaves + core) / 2; i != 0; i /= 2) {
        const std::uint16_t left = winners_[2 * i];
        const std::uint16_t right = winners_[2 * i + 1];
        winners_[i] = times_[right] < times_[left] ? right : left;
    }
}

machine::line& machine::line_of(const void* address) {
    const std::size_t number = region::line_of(address);
    if (number == region::line_count) {
        give_up("an access outside of the simulated memory");
    }
    return lines_[number];
}

void machine::access(const void* address, use how, picoseconds local) {
    if (current_ == nobody) {
        return; // before and after the simulation
    }
    ++accesses_;
    wait_for_turn();
    if (current_ >= cores_) {
        return; // an observer
    }
    line& of = line_of(address);
    if (how == use::update) {
        core_state& me = all_[current_];
        me.time = std::max(me.time, me.stored_at) + std::exchange(local, 0);
        wait_for_turn();
    }
    const bool has = how == use::read ? of.readers[current_] : of.owner == current_;
    if (has) {
        of.written |= how != use::read;
    } else if (!of.touched) {
        of.touched = true;
        of.written = how != use::read;
        of.latest = static_cast<std::uint16_t>(current_);
        of.owner = static_cast<std::uint16_t>(current_);
        of.readers.set(current_);
    } else if (how == use::store) {
        fetch_for_store(of);
    } else {
        core_state& me = all_[current_];
        const picoseconds asked = me.time;
        fetch(of, how != use::read);
        me.ahead = how == use::update ? std::min(me.time - asked, prices_.run_ahead) : 0;
    }
    // The access takes place now, and no other core sees the line before this core continues.
    spend(local);
}

void machine::fetch(line& of, bool write) {
    ++transfers_;
    core_state& me = all_[current_];
    const picoseconds start = std::max(me.time, of.free_at);
    const picoseconds time = time_to_fetch(of, write);
    const bool takes = write || (prices_.reads_take && of.written);
    of.written = write;
    if (takes) {
        of.latest = static_cast<std::uint16_t>(current_);
    }
    of.free_at = start + (takes ? time : std::min(prices_.read_service, time));
    me.time = start + std::min(about(prices_.request), time);
    wait_for_turn();
    of.owner = none;
    if (takes) {
        of.moving = true;
        of.readers.reset();
    }
    me.time = start + time;
    wait_for_turn();
    if (takes) {
        of.moving = false;
        of.owner = static_cast<std::uint16_t>(current_);
        of.written = write;
        of.readers.set(current_);
    } else if (!of.moving && of.owner == none) {
        of.readers.set(current_);
    }
}

void machine::fetch_for_store(line& of) {
    ++transfers_;
    core_state& me = all_[current_];
    while (of.moving || of.free_at > me.time) {
        me.time = std::max(me.time + 1, of.free_at);
        wait_for_turn();
    }
    of.free_at = me.time + time_to_fetch(of, true);
    of.owner = static_cast<std::uint16_t>(current_);
    of.latest = of.owner;
    of.written = true;
    of.readers.reset();
    of.readers.set(current_);
    me.stored_at = std::max(me.stored_at, of.free_at);
}

picoseconds machine::time_to_fetch(const line& of, bool write) const noexcept {
    const picoseconds time = !write                 ? prices_.read_line
                             : of.readers[current_] ? prices_.upgrade_line
                                                    : prices_.take_line;
    return is_far(of, write) ? time * prices_.far_percent / 100 : time;
}

bool machine::is_far(const line& of, bool write) const noexcept {
    const core_set& near = on_socket_[socket_of(current_)];
    if (of.readers.none()) { // it moves to another core first
        return !near[of.latest];
    }
    return write ? (of.readers & ~near).any() : (of.readers & near).none();
}

picoseconds machine::about(picoseconds time) noexcept {
    const double unit = static_cast<double>(random() >> 11U) * 0x1.0p-53;
    return static_cast<picoseconds>(static_cast<double>(time) * (1 + jitter_ * (2 * unit - 1)));
}

void machine::idle_until(picoseconds time) {
    all_[current_].time = std::max(all_[current_].time, time);
    wait_for_turn();
}

void machine::sleep(const void* address, const std::function<bool()>& changed) {
    wait_for_turn();
    if (changed()) {
        return;
    }
    all_[current_].bed = address;
    leave();
}

void machine::wake(const void* address) {
    wait_for_turn();
    for (unsigned i = 0; i != all_.size(); ++i) {
        core_state& other = all_[i];
        if (other.bed == address) {
            other.bed = nullptr;
            other.time = std::max(other.time, now() + prices_.wake);
            play(i, other.time);
            next_time_ = std::min(next_time_, other.time);
        }
    }
}

/// xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled",
/// 2016).
std::uint64_t machine::random() noexcept {
    random_ ^= random_ >> 12U;
    random_ ^= random_ << 25U;
    random_ ^= random_ >> 27U;
    return random_ * 0x2545F4914F6CDD1DU;
}

void*& machine::own(std::size_t type) {
    return owned_.at(type).at(current_ == nobody ? max_cores + 1 : current_);
}

} // namespace tryst::scale
