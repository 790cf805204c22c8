// SPDX-License-Identifier: MIT
// The wait_lists of two colours, which differ in whom they serve first.
#include <tryst/detail/meet/dual_queue.hpp>
#include <tryst/detail/meet/dual_stack.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <deque>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using tryst::detail::colour;
using tryst::detail::match_result;
using tryst::detail::waiter;
using stack = tryst::detail::dual_stack;
using queue = tryst::detail::basic_dual_queue<1>; // two cells to a segment

constexpr colour red = colour::red;
constexpr colour blue = colour::blue;

/// Leaves every waiter to `complete`.
constexpr auto every = [](waiter& /*w*/) { return true; };

template <class WaitList>
class DualWaitList : public testing::Test {
protected:
    static constexpr bool is_queue = std::is_same_v<WaitList, queue>;

    /// What an arrival does that waits.
    match_result arrive(waiter& w, colour side) {
        const match_result seen = list_.try_match(side);
        return seen.kind == match_result::partner || seen.kind == match_result::closed
                   ? seen
                   : list_.enqueue_or_match(w, side);
    }

    void all_arrive(std::vector<waiter>& waiters, colour side) {
        for (waiter& w : waiters) {
            ASSERT_EQ(arrive(w, side).kind, match_result::offered);
        }
    }

    /// Those who arrived in this order, as they are served.
    static std::vector<waiter*> as_served(std::vector<waiter*> all) {
        if (!is_queue) {
            std::ranges::reverse(all);
        }
        return all;
    }

    WaitList list_;
};

struct names {
    template <class WaitList>
    static std::string GetName(int /*i*/) { // NOLINT(readability-identifier-naming): googletest's
        return std::is_same_v<WaitList, queue> ? "Queue" : "Stack";
    }
};
using wait_lists = testing::Types<queue, stack>;
TYPED_TEST_SUITE(DualWaitList, wait_lists, names);

TYPED_TEST(DualWaitList, TellsWhoseSideWaits) {
    waiter w;
    EXPECT_EQ(this->arrive(w, red).kind, match_result::offered);
    EXPECT_EQ(this->list_.try_match(red).kind, match_result::own_side);
    const match_result seen = this->list_.try_match(blue);
    EXPECT_EQ(seen.kind, match_result::partner);
    EXPECT_EQ(seen.claimed, &w);
    EXPECT_FALSE(this->list_.withdraw(w, red)) << "it was claimed";
    EXPECT_EQ(this->list_.try_match(red).kind, match_result::empty);
}

TYPED_TEST(DualWaitList, ClosingHandsOverAllWhoWaitInOrder) {
    std::vector<waiter> blues(6);
    this->all_arrive(blues, blue);
    ASSERT_TRUE(this->list_.withdraw(blues[3], blue));
    std::vector<waiter*> expected =
        this->as_served({&blues[0], &blues[1], &blues[2], &blues[4], &blues[5]});
    ASSERT_EQ(this->list_.try_match(red).claimed, expected.front());
    expected.erase(expected.begin());

    EXPECT_FALSE(this->list_.is_closed());
    std::vector<waiter*> expelled;
    expelled.push_back(this->list_.close(every, [&](waiter& w) { expelled.push_back(&w); }));
    EXPECT_EQ(expelled, expected);
    EXPECT_TRUE(this->list_.is_closed());
    EXPECT_FALSE(this->list_.withdraw(blues[2], blue));
    for (int i = 0; i != 100; ++i) { // more than one segment's tickets
        const colour side = i % 2 == 0 ? red : blue;
        waiter late;
        EXPECT_EQ(this->list_.try_match(side).kind, match_result::closed);
        EXPECT_NE(this->list_.enqueue_or_match(late, side).kind, match_result::offered);
    }
    EXPECT_EQ(this->list_.close(every, [&](waiter& /*w*/) { FAIL() << "nobody is left"; }),
              nullptr);
}

TYPED_TEST(DualWaitList, DoesNotKeepWhatIsCompletedAtOnce) {
    std::vector<waiter> waiters(5);
    this->all_arrive(waiters, colour::red);
    std::vector<waiter*> taken;
    std::vector<waiter*> kept;
    waiter* const last = this->list_.close(
        [&](waiter& w) {
            taken.push_back(&w);
            return taken.size() % 2 == 0;
        },
        [&](waiter& w) { kept.push_back(&w); });
    ASSERT_EQ(taken.size(), 5U);
    if (last != nullptr) {
        kept.push_back(last);
    }
    EXPECT_EQ(kept, (std::vector{taken[1], taken[3]}));
}

/// Over many turns of its places, with roles that change: a queue is one; whom a stack serves,
/// waits. (It is none: an arrival takes the place of one who has withdrawn.)
TYPED_TEST(DualWaitList, KeepsWhoWaits) {
    std::vector<waiter> all(40);
    std::deque<waiter*> idle;
    for (waiter& w : all) {
        idle.push_back(&w);
    }
    std::deque<waiter*> waiting;
    colour side = red;
    std::minstd_rand random(7); // NOLINT(cert-msc51-cpp): the same every time
    for (int i = 0; i != 200'000; ++i) {
        const auto dice = random() % 100;
        if (dice < 45 && !idle.empty()) {
            if (waiting.empty()) {
                side = random() % 2 == 0 ? red : blue;
            }
            waiter* const w = idle.front();
            ASSERT_EQ(this->arrive(*w, side).kind, match_result::offered);
            idle.pop_front();
            waiting.push_back(w);
        } else if (dice < 65 && !waiting.empty()) {
            const std::size_t at = random() % waiting.size();
            waiter* const w = waiting[at];
            ASSERT_TRUE(this->list_.withdraw(*w, side));
            waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(at));
            idle.push_back(w);
        } else {
            const match_result seen = this->list_.try_match(opposite(side));
            if (waiting.empty()) {
                ASSERT_EQ(seen.kind, match_result::empty);
                continue;
            }
            const auto met = std::ranges::find(waiting, seen.claimed);
            ASSERT_NE(met, waiting.end());
            ASSERT_TRUE(!this->is_queue || met == waiting.begin());
            idle.push_back(*met);
            waiting.erase(met);
        }
    }
}

// The queue alone is one among parties that come at the same time, and has segments.

// Compares two numbers of waiters, in time of this thread, the shortest of three.
TEST(DualQueue, ClosesInLinearTime) {
    const auto time_to_close = [](std::size_t waiting) {
        std::clock_t shortest = std::numeric_limits<std::clock_t>::max();
        for (int i = 0; i != 3; ++i) {
            tryst::detail::basic_dual_queue<0> q; // a segment for each
            std::vector<waiter> reds(waiting);
            for (waiter& w : reds) {
                EXPECT_EQ(q.enqueue_or_match(w, red).kind, match_result::offered);
            }
            const std::clock_t start = std::clock();
            EXPECT_EQ(q.close(every, [](waiter& /*w*/) {}), &reds.back());
            shortest = std::min(shortest, std::clock() - start);
        }
        return shortest;
    };
    EXPECT_LT(time_to_close(20'000), 50 * (time_to_close(1'250) + 10)) << "16 times as many";
}

/// Some meet, some withdraw, and some stay until later ones have withdrawn.
template <unsigned CellBits>
void serve_arrivals_from(std::uint64_t ticket) {
    tryst::detail::basic_dual_queue<CellBits> q(ticket);
    std::vector<waiter> staying(3);
    waiter passing;
    for (int turn = 0; turn != 60; ++turn) {
        const colour own = turn % 2 == 0 ? red : blue;
        for (waiter& w : staying) {
            ASSERT_EQ(q.enqueue_or_match(w, own).kind, match_result::offered);
            for (unsigned i = 0; i != 2U << CellBits; ++i) {
                ASSERT_EQ(q.enqueue_or_match(passing, own).kind, match_result::offered);
                ASSERT_TRUE(q.withdraw(passing, own));
            }
        }
        for (waiter& w : staying) {
            waiter mine;
            const colour other = tryst::detail::opposite(own);
            ASSERT_EQ(
                (turn % 3 == 0 ? q.try_match(other) : q.enqueue_or_match(mine, other)).claimed, &w);
        }
        ASSERT_EQ(q.try_match(tryst::detail::opposite(own)).kind, match_result::empty);
    }
    ASSERT_EQ(q.enqueue_or_match(passing, red).kind, match_result::offered);
    EXPECT_EQ(q.close(every, [](waiter& /*w*/) { FAIL() << "only one waits"; }), &passing);
}

// The tickets themselves have 63 bits; what is compared with them, or shown of them, has fewer.
TEST(DualQueue, ServesArrivalsAroundEachPowerOfTwo) {
    for (unsigned bits = 12; bits != 63; ++bits) {
        SCOPED_TRACE(bits);
        for (const int segments : {1, 5, 40}) {
            const std::uint64_t wrap = std::uint64_t{1} << bits;
            serve_arrivals_from<0>(wrap - static_cast<std::uint64_t>(segments));
            serve_arrivals_from<1>(wrap - 2 * static_cast<std::uint64_t>(segments));
            serve_arrivals_from<6>(wrap - 64 * static_cast<std::uint64_t>(segments));
        }
    }
}

/// Names private members, as support/insides.cpp does.
template <auto Blue, auto Segments, auto VoidUntil>
struct opened {
    /// As if the blues before this ticket had come without memory.
    friend void void_blues(queue& q, std::uint64_t end) {
        ((q.*Segments).*VoidUntil).store(end, std::memory_order_relaxed);
        (q.*Blue).word.store(2 * end, std::memory_order_relaxed);
    }
};
void void_blues(queue& q, std::uint64_t end);
template struct opened<&queue::blue_, &queue::segments_,
                       &tryst::detail::segment_list<1>::void_until_>;

TEST(DualQueue, FindsAWaiterHoweverFarTheOtherColourIsAhead) {
    for (unsigned bits = 12; bits != 63; ++bits) {
        SCOPED_TRACE(bits);
        queue q;
        waiter first;
        waiter last;
        waiter passing;
        ASSERT_EQ(q.enqueue_or_match(first, blue).kind, match_result::offered);
        void_blues(q, (std::uint64_t{1} << bits) + 20);
        for (int i = 0; i != 1'000; ++i) { // in turn they are swept
            ASSERT_EQ(q.enqueue_or_match(passing, blue).kind, match_result::offered);
            ASSERT_TRUE(q.withdraw(passing, blue));
        }
        ASSERT_EQ(q.enqueue_or_match(last, blue).kind, match_result::offered);
        waiter mine;
        ASSERT_EQ(q.enqueue_or_match(mine, red).claimed, &first);
        ASSERT_EQ(q.enqueue_or_match(mine, red).claimed, &last);
        ASSERT_EQ(q.enqueue_or_match(mine, red).kind, match_result::offered);
        ASSERT_EQ(q.try_match(blue).claimed, &mine);
    }
}

// The stack alone has places that are used again, and may send an arrival back to look once more.

TEST(DualStack, PutsTheNextInThePlaceOfOneWhoHasWithdrawn) {
    stack s;
    std::vector<waiter> reds(3);
    ASSERT_EQ(s.enqueue_or_match(reds[0], red).kind, match_result::offered);
    ASSERT_EQ(s.enqueue_or_match(reds[1], red).kind, match_result::offered);
    ASSERT_TRUE(s.withdraw(reds[0], red));
    ASSERT_EQ(s.enqueue_or_match(reds[2], red).kind, match_result::offered);
    EXPECT_EQ(reds[2].place, reds[0].place);
    EXPECT_EQ(s.try_match(blue).claimed, &reds[1]);
    EXPECT_EQ(s.try_match(blue).claimed, &reds[2]);
}

TEST(DualStack, TheOtherColourFindsNoUseForAPlaceThatIsStillOnTheStack) {
    stack s;
    waiter first;
    waiter second;
    ASSERT_EQ(s.enqueue_or_match(first, red).kind, match_result::offered);
    ASSERT_TRUE(s.withdraw(first, red));
    // As if it had looked before `first` came.
    EXPECT_EQ(s.enqueue_or_match(second, blue).kind, match_result::empty);
    EXPECT_EQ(s.try_match(blue).kind, match_result::empty);
    EXPECT_EQ(s.enqueue_or_match(second, blue).kind, match_result::offered);
    EXPECT_EQ(s.try_match(red).claimed, &second);
    EXPECT_EQ(s.try_match(red).kind, match_result::empty);
}

template <auto Head>
struct opened_stack {
    friend void count_to_the_end(stack& s) {
        (s.*Head).fetch_or(~std::uint64_t{0} << 26U, std::memory_order_relaxed);
    }
};
void count_to_the_end(stack& s);
template struct opened_stack<&stack::head_>;

TEST(DualStack, CountsOnWhenItsChangesWrap) {
    for (const bool withdraws : {false, true}) {
        stack s;
        std::vector<waiter> reds(10);
        for (int turn = 0; turn != 10; ++turn) {
            for (waiter& w : reds) {
                ASSERT_EQ(s.enqueue_or_match(w, red).kind, match_result::offered);
            }
            if (turn == 3) {
                count_to_the_end(s);
            }
            for (auto w = reds.rbegin(); w != reds.rend(); ++w) {
                if (withdraws && (w - reds.rbegin()) % 2 != 0) {
                    ASSERT_TRUE(s.withdraw(*w, red));
                } else {
                    ASSERT_EQ(s.try_match(blue).claimed, &*w);
                }
            }
        }
    }
}

template <auto Head>
struct opened_list {
    friend void count_to_the_end(tryst::detail::segment_list<0>& segments) {
        (segments.*Head).fetch_or(~std::uint64_t{0} << 19U, std::memory_order_relaxed);
    }
};
void count_to_the_end(tryst::detail::segment_list<0>& segments);
template struct opened_list<&tryst::detail::segment_list<0>::head_>;

TEST(SegmentList, CountsOnWhenTheChangesOfALinkWrap) {
    using list = tryst::detail::segment_list<0>;
    list segments;
    list::front front{segments.first()};
    count_to_the_end(segments);
    for (list::ticket t = 0; t != 10; ++t) {
        const auto at = segments.find(t, front);
        ASSERT_EQ(at.first, t);
        ASSERT_EQ(segments.append(at), list::append_result::appended);
        segments.cell(at.n, t).store(list::finished_cell);
        tryst::detail::atomic<std::uint64_t> cursor{(t + 1) << 1U};
        segments.tidy(cursor);
    }
    EXPECT_EQ(segments.find(10, front).first, 10);
}

TEST(SegmentList, DoesNotTakeASegmentForTheSealedOneThatNowHasItsNumber) {
    using list = tryst::detail::segment_list<0>; // one cell in a segment
    list segments;
    list::front front{segments.first()};
    const auto first = segments.find(0, front);
    for (list::ticket t = 0; t != 3; ++t) {
        ASSERT_EQ(segments.append(segments.find(t, front)), list::append_result::appended);
    }
    segments.cell(first.n, 0).store(list::finished_cell);
    tryst::detail::atomic<std::uint64_t> cursor{2U << 1U};
    segments.tidy(cursor);
    ASSERT_EQ(segments.append(segments.find(3, front)), list::append_result::appended);
    const auto last = segments.find(4, front);
    ASSERT_EQ(last.n, first.n);
    segments.seal();
    EXPECT_TRUE(segments.is_sealed(last));
    EXPECT_FALSE(segments.is_sealed(first));
}

} // namespace
