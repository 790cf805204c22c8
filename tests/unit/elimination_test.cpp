// SPDX-License-Identifier: MIT
// Elimination beside a stack of two colours is linearizable: whatever its parties can see, the
// parties of a stack alone can see, too. All small histories are played.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

constexpr std::size_t most = 4;
constexpr std::uint8_t nobody = 0xFF;

/// What can be seen of the parties: when each began, was found in the stack and returned, in the
/// order of all such events, and its partner.
struct history {
    std::array<std::uint8_t, most> invoked{};
    std::array<std::uint8_t, most> parked{nobody, nobody, nobody, nobody};
    std::array<std::uint8_t, most> returned{nobody, nobody, nobody, nobody};
    std::array<std::uint8_t, most> partner{nobody, nobody, nobody, nobody};

    auto operator<=>(const history&) const = default;
};

struct rules {
    bool eliminates = false; ///< Two parties that are arriving may meet.
    bool serves_top = true; ///< Otherwise an arrival takes the party at the bottom.
};

/// All histories of parties whose arrival at the stack is one step. There a party meets one of the
/// other colour, or waits if there is none.
class machine {
public:
    machine(std::vector<bool> red, rules how) : red_(std::move(red)), how_(how) {
        play({{}, std::vector<phase>(red_.size(), phase::absent), {}, 0});
    }

    const std::set<history>& histories() const { return histories_; }

private:
    enum class phase : std::uint8_t { absent, arriving, waiting, parked, met, gone };

    struct state {
        history seen;
        std::vector<phase> of;
        std::vector<std::uint8_t> stack;
        std::uint8_t events = 0;

        auto operator<=>(const state&) const = default;
    };

    void play(const state& s) {
        if (!known_.insert(s).second) {
            return;
        }
        histories_.insert(s.seen);
        for (std::size_t i = 0; i != red_.size(); ++i) {
            state t = s;
            switch (s.of[i]) {
            case phase::absent:
                t.of[i] = phase::arriving;
                t.seen.invoked.at(i) = ++t.events;
                break;
            case phase::arriving:
                arrive_at_stack(t, i);
                break;
            case phase::waiting:
                t.of[i] = phase::parked;
                t.seen.parked.at(i) = ++t.events;
                break;
            case phase::met:
                t.of[i] = phase::gone;
                t.seen.returned.at(i) = ++t.events;
                break;
            case phase::parked:
            case phase::gone:
                continue;
            }
            play(t);
            for (std::size_t j = 0; how_.eliminates && j != i; ++j) {
                if (s.of[i] == phase::arriving && s.of[j] == phase::arriving &&
                    red_[i] != red_[j]) {
                    t = s;
                    match(t, i, j);
                    play(t);
                }
            }
        }
    }

    void arrive_at_stack(state& s, std::size_t i) const {
        if (s.stack.empty() || red_[s.stack.back()] == red_[i]) {
            s.stack.push_back(static_cast<std::uint8_t>(i));
            s.of[i] = phase::waiting;
            return;
        }
        const auto served = how_.serves_top ? std::prev(s.stack.end()) : s.stack.begin();
        const std::size_t partner = *served;
        s.stack.erase(served);
        match(s, i, partner);
    }

    static void match(state& s, std::size_t a, std::size_t b) {
        s.seen.partner.at(a) = static_cast<std::uint8_t>(b);
        s.seen.partner.at(b) = static_cast<std::uint8_t>(a);
        s.of[a] = s.of[b] = phase::met;
    }

    std::vector<bool> red_;
    rules how_;
    std::set<state> known_;
    std::set<history> histories_;
};

/// Whether a stack alone has all histories that `how` allows.
bool is_a_stack(const std::vector<bool>& red, rules how) {
    const machine tried(red, how);
    const machine stack(red, {});
    return std::ranges::includes(stack.histories(), tried.histories());
}

TEST(Elimination, AddsNoHistoryToAStackWhoeverWaitsBelow) {
    for (std::size_t count = 2; count <= most; ++count) {
        for (std::size_t reds = 1; reds != count; ++reds) {
            std::vector<bool> red(count, false);
            std::fill_n(red.begin(), reds, true);
            EXPECT_TRUE(is_a_stack(red, {.eliminates = true})) << reds << " of " << count;
        }
    }
}

TEST(Elimination, IsComparedWithAStackAndNotWithAnyList) {
    EXPECT_FALSE(is_a_stack({true, true, false}, {.serves_top = false}));
}

} // namespace
} // namespace tryst::test
