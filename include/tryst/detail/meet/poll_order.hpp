// SPDX-License-Identifier: MIT
/// @file
/// The order in which a selection polls its cases, and the one in which it registers them.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/executor.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace tryst::detail {

/// Pseudo-random numbers, in a sequence that is the same for each thread.
class random_draws {
public:
    /// A bijection: the finalizer of MurmurHash3 (Appleby, 2011).
    static std::uint64_t scrambled(std::uint64_t x) noexcept {
        x = (x ^ (x >> 33U)) * 0xFF51AFD7ED558CCDU;
        x = (x ^ (x >> 33U)) * 0xC4CEB9FE1A85EC53U;
        return x ^ (x >> 33U);
    }

    /// @param most  no bound is greater. Up to 2^24, the chances of any two numbers of a draw
    ///   differ by less than one in 2^14.
    explicit random_draws(std::size_t most) noexcept
        : bits_(static_cast<unsigned>(std::bit_width(most))),
          per_word_(most <= 16 ? 0 : (std::max)((48 - bits_) / bits_, 1U)) {} // 16! < 2^45

    /// The first word.
    std::uint64_t word() const noexcept { return word_; }

    /// A number below `bound`, which is 1 or more.
    std::size_t below(std::size_t bound) noexcept {
        if (per_word_ != 0 && left_-- == 0) {
            left_ = per_word_ - 1;
            fraction_ = next() >> bits_;
        }
        // Without a division (Lemire, "Fast random integer generation in an interval", 2019,
        // section 3). The bits of the product below the draw serve the next draws
        // (Brackett-Rozinsky and Lemire, "Batched ranged random integer generation", 2024).
        const std::uint64_t product = fraction_ * bound;
        const unsigned below_draw = 64 - bits_;
        fraction_ = product & ((std::uint64_t{1} << below_draw) - 1);
        return product >> below_draw;
    }

private:
    static std::uint64_t next() noexcept {
        // A counter alone would prefer some cases if the program selects in a regular pattern.
        return scrambled(++per_thread<thread_state>().draws);
    }

    unsigned bits_;
    unsigned per_word_; ///< Draws from one word; 0: all.
    unsigned left_ = per_word_;
    const std::uint64_t word_ = next();
    std::uint64_t fraction_ = word_ >> bits_;
};

/* The order of a poll
 * Unless it is biased, a poll draws each case among those that are left (Durstenfeld, "Random
 * permutation", 1964). So all cases of any set of ready cases have equal chances, and a poll pays
 * only for the cases that it reaches. Of several cases on the same side of one exchanger one is
 * registered: the one to which a bijection gives the least number. */
class poll_order {
public:
    explicit poll_order(bool is_biased) noexcept : is_biased_(is_biased) {}

    bool is_biased() const noexcept { return is_biased_; }

    /// Calls `poll` with the number of each case, until it returns true.
    /// @param left  the numbers of all cases; afterwards in no order.
    /// @returns whether it did.
    template <class Numbers, class Poll>
    bool any_of(std::size_t size, Numbers&& left, Poll poll) noexcept {
        random_draws draws(size);
        word_ = draws.word();
        for (std::size_t i = 0; i != size; ++i) {
            const std::size_t last = size - 1 - i;
            if (poll(is_biased_ ? i : std::exchange(left[draws.below(last + 1)], left[last]))) {
                return true;
            }
        }
        return false;
    }

    /// Sorts the numbers of all cases into the order of their registration: by the addresses
    /// `where` of their exchangers.
    template <class Numbers, class Where>
    void sort(Numbers&& numbers, Where where) const {
        const auto comes_before = [&](std::size_t a, std::size_t b) {
            const void* const at_a = where(a);
            const void* const at_b = where(b);
            return at_a != at_b ? std::less<>()(at_a, at_b) : rank(a) < rank(b);
        };
        if (!std::is_sorted(numbers.begin(), numbers.end(), comes_before)) {
            std::sort(numbers.begin(), numbers.end(), comes_before);
        }
    }

private:
    std::uint64_t rank(std::size_t i) const noexcept {
        return is_biased_ ? i : random_draws::scrambled(word_ + i);
    }

    std::uint64_t word_ = 0; ///< The first one of the poll.
    bool is_biased_;
};

} // namespace tryst::detail
