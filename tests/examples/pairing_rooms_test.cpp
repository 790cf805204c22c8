// SPDX-License-Identifier: MIT
#include "pairing_server/rooms.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace pairing;

/// Names of 16 bytes that libstdc++'s `std::hash` maps to the same value. The hash is MurmurHash64A
/// with a fixed seed. Each of its rounds takes eight bytes and can be inverted. So for any first
/// eight bytes we can compute the last eight bytes that lead to a given state.
class colliding_names {
public:
    std::string name(std::uint64_t first) const {
        const std::uint64_t state = (seed ^ 16 * factor ^ scramble(first)) * factor;
        const std::array<std::uint64_t, 2> words{first, unscramble(state ^ common_state)};
        std::string bytes(sizeof words, '\0');
        std::memcpy(bytes.data(), words.data(), sizeof words);
        return bytes;
    }

private:
    static constexpr std::uint64_t factor = 0xc6a4a7935bd1e995;
    static constexpr std::uint64_t seed = 0xc70f6907;
    static constexpr std::uint64_t common_state = 0x123456789abcdef; // arbitrary

    static std::uint64_t fold(std::uint64_t word) {
        return word ^ (word >> 47U);
    } // its own inverse
    static std::uint64_t scramble(std::uint64_t word) { return fold(word * factor) * factor; }
    std::uint64_t unscramble(std::uint64_t word) const { return fold(word * inverse_) * inverse_; }

    static std::uint64_t inverse_of_factor() {
        std::uint64_t inverse = factor; // Newton's iteration modulo 2^64 doubles the correct bits
        for (int i = 0; i != 6; ++i) {
            inverse *= 2 - factor * inverse;
        }
        return inverse;
    }

    std::uint64_t inverse_ = inverse_of_factor();
};

/// CPU seconds for entering and leaving all of these rooms; the best of three runs.
double time_of(const std::vector<std::string>& names) {
    options chosen;
    chosen.max_rooms = names.size();
    std::clock_t best = std::numeric_limits<std::clock_t>::max();
    const auto place = make_local_place(false);
    for (int i = 0; i != 3; ++i) {
        rooms all(chosen, *place);
        const std::clock_t start = std::clock();
        std::vector<rooms::room_reference> references;
        references.reserve(names.size());
        for (const std::string& name : names) {
            auto reference = all.enter(name);
            EXPECT_TRUE(reference);
            references.push_back(*std::move(reference));
        }
        EXPECT_EQ(all.count().rooms, names.size());
        references.clear();
        best = std::min(best, std::clock() - start);
    }
    return static_cast<double>(best) / CLOCKS_PER_SEC;
}

TEST(PairingRooms, AreAsFastForNamesThatCollideInTheStandardHash) {
    constexpr std::uint64_t count = 5'000;
    const colliding_names colliding;
    std::vector<std::string> chosen_by_attacker;
    std::vector<std::string> ordinary;
    for (std::uint64_t i = 0; i != count; ++i) {
        chosen_by_attacker.push_back(colliding.name(i));
        ordinary.push_back("room " + std::to_string(10'000'000'000 + i)); // also 16 bytes
    }
    std::set<std::size_t> hashes;
    for (const std::string& name : chosen_by_attacker) {
        hashes.insert(std::hash<std::string>()(name));
    }
    ASSERT_EQ(hashes.size(), 1U) << "the names do not collide: colliding_names does not fit this "
                                    "standard library's hash";
    // In a single bucket of a hash table they would take 30 times as long.
    EXPECT_LT(time_of(chosen_by_attacker), 5 * time_of(ordinary));
}

} // namespace
