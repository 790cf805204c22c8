// SPDX-License-Identifier: MIT
/// @file
/// Which of its alternatives an execution takes at each choice, and which executions are still to
/// be made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace tryst::model {

/// 64 bits that stand for a state. Two of n states collide with a probability of about n^2 / 2^65:
/// one in a hundred thousand for ten million states.
using fingerprint = std::uint64_t;

/// Mixes `next` into `so_far` (the finalizer of Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", 2014, figure 16, "Mix13").
constexpr fingerprint mix(fingerprint so_far, fingerprint next) noexcept {
    fingerprint z = (so_far ^ next) + 0x9E3779B97F4A7C15U + (so_far << 6U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
}

/// The states that executions have come to, and the cost of each: a hash table with open
/// addressing, at most half full.
class state_set {
public:
    /// How much an execution has used of each bound.
    struct cost {
        unsigned preemptions;
        unsigned stale_reads;
    };

    /// @returns false if `state` is known at this cost, or at one that is higher in neither part.
    bool insert(fingerprint state, cost at);
    /// How often `insert` has returned true.
    std::size_t size() const noexcept { return size_; }

private:
    // Each cost is a bit, and 64 costs share an entry. With bounds below eight, one lookup decides.
    static constexpr unsigned side = 8;
    struct entry {
        fingerprint state; ///< Mixed with the costs divided by `side`; 0 if the entry is free.
        std::uint64_t costs;
    };

    entry& find(fingerprint f) noexcept;

    std::vector<entry> table_ = std::vector<entry>(std::size_t{1} << 16U);
    std::size_t used_ = 0;
    std::size_t size_ = 0;
};

/// The choices of an execution, in order.
class choices {
public:
    enum class how : std::uint8_t { exhaustive, random, replayed };

    /// The next choice, one of `count`. Call only on the execution that `begin` began.
    std::size_t choose(std::size_t count);

    /// Enters a choice that was made otherwise. In a random execution only.
    void record(std::size_t taken, std::size_t count);

    /// Whether all choices so far repeat those of an earlier execution.
    bool repeating() const noexcept { return next_ < taken_.size(); }

    void begin_exhaustive() noexcept;
    void begin_random(std::uint64_t seed);
    /// Repeats `taken`, then takes first alternatives.
    void begin_replay(const std::vector<std::uint8_t>& taken);

    /// Goes on to the next execution of an exhaustive search, depth first; false if there is none.
    bool advance() noexcept;

    how mode() const noexcept { return how_; }
    std::mt19937_64& random() noexcept { return random_; }

    /// The choices made, to be repeated.
    std::vector<std::uint8_t> taken() const;
    static std::string to_text(const std::vector<std::uint8_t>& taken);
    /// @returns nothing if `text` is not what `to_text` writes.
    static std::optional<std::vector<std::uint8_t>> from_text(std::string_view text);

private:
    struct choice {
        std::uint8_t taken;
        std::uint8_t count;
    };

    std::vector<choice> taken_;
    std::size_t next_ = 0;
    how how_ = how::exhaustive;
    std::mt19937_64 random_;
};

} // namespace tryst::model
