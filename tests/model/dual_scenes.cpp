// SPDX-License-Identifier: MIT
// Two colours: the wait lists alone, and below the protocol.
#include "model/meeting.hpp"
#include "model/scenes.hpp"
#include "support/opened_arena.hpp"

#include <tryst/detail/meet/dual_queue.hpp>
#include <tryst/detail/meet/dual_stack.hpp>
#include <tryst/detail/meet/protocol.hpp>
#include <tryst/exchange_operation.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace tryst {

namespace model {

namespace {

using detail::colour;
using detail::match_result;
using detail::step;
using enum colour;

// One cell in a segment, and two: every arrival, or every other, comes to a boundary.
using queue = detail::basic_dual_queue<0>;
using wide_queue = detail::basic_dual_queue<1>;
using stack = detail::dual_stack;

// ---- Wait lists without a protocol: a claimed waiter is not completed.

enum class fate : std::uint8_t { none, waits, met, gone, closed, nobody, no_memory };

// Not in the model's memory: checks may look at it without being ordered after the write.
struct record {
    fate end = fate::none;
    colour side = none;
    std::size_t mate = 0;
};
std::array<record, 24> records;

/// What a party does.
enum class plan : std::uint8_t {
    waits,
    quits, ///< withdraws at once
    tries, ///< offers nothing
};

template <class WaitList>
constexpr unsigned cells_of = 0;
template <unsigned CellBits>
constexpr unsigned cells_of<detail::basic_dual_queue<CellBits>> = 1U << CellBits;

template <class WaitList>
class crowd {
public:
    static constexpr unsigned cells = cells_of<WaitList>; ///< in a segment

    crowd() : list_(new WaitList) { records.fill({}); }
    ~crowd() {
        delete list_;
        for (std::size_t i = 0; i != count_; ++i) {
            delete guests_[i];
        }
    }
    crowd(const crowd&) = delete;
    crowd& operator=(const crowd&) = delete;

    /// At most `most` of the following allocations of segments fail: the first if `surely`,
    /// otherwise any.
    void starve(unsigned most, bool surely = false) {
        starves_ = true;
        the_checker().starve(most, surely);
    }

    /// From now on, no party may need more memory than there is.
    static void require_no_growth() { the_checker().starve(1'000, true); }

    /// The next party arrives, now.
    void arrive(colour own, plan p = plan::waits) { arrive(add(own), own, p); }

    /// One arrives and withdraws, now, `times` times.
    void come_and_go(colour own, std::size_t times = 1) {
        for (std::size_t i = 0; i != times; ++i) {
            require(list_->enqueue_or_match(nobody_, own).kind == match_result::offered,
                    "one has met nobody");
            require(list_->withdraw(nobody_, own), "nobody has been met");
        }
    }

    /// One that waits withdraws, now.
    void leave(std::size_t which) {
        require(list_->withdraw(*guests_[which], records[which].side), "one does not wait");
        end(*guests_[which], fate::gone);
    }

    /// A thread that arrives `times` times, as so many parties.
    auto party(colour own, plan p = plan::waits, std::size_t times = 1) {
        const std::size_t first = count_;
        for (std::size_t i = 0; i != times; ++i) {
            add(own);
        }
        return [this, own, p, first, times] {
            for (std::size_t i = first; i != first + times; ++i) {
                arrive(i, own, p);
            }
        };
    }

    /// A thread that arrives as a party of each of these colours, in turn. The last one does `p`.
    template <std::size_t N>
    auto parties(const colour (&own)[N], plan p = plan::waits) {
        std::array<std::size_t, N> mine{};
        for (std::size_t i = 0; i != N; ++i) {
            mine[i] = add(own[i]);
        }
        return [this, mine, p] {
            for (const std::size_t i : mine) {
                arrive(i, records[i].side, i == mine.back() ? p : plan::waits);
            }
        };
    }

    auto closer() {
        return [this] {
            closing_ = true;
            close();
        };
    }
    /// One of several.
    auto one_closer() {
        closing_ = true;
        return [this] { close(); };
    }

    /// After `run`: the first party that has arrived has met somebody.
    void require_first_met() const {
        require(records[0].end == fate::met, "another was preferred to the first");
    }
    /// After `run`: this party has met somebody, or this one.
    static void require_met(std::size_t which) {
        require(records.at(which).end == fate::met, "a party has missed another");
    }
    static void require_met(std::size_t which, std::size_t mate) {
        require_met(which);
        require(records[which].mate == mate, "another was preferred to the first");
    }
    std::size_t count() const { return count_; }

    /// Whoever waits is met, now.
    void meet_all() {
        for (std::size_t i = 0; i != count_; ++i) {
            if (records[i].end == fate::waits) {
                arrive(opposite(records[i].side));
                require(records[count_ - 1].end == fate::met, "a party has missed another");
            }
        }
    }

    /// A thread that only asks whether all is closed.
    auto asker() {
        return [this] {
            // A plain access: the close happens-before the answer.
            require(!list_->is_closed() || closing_, "one finds closed what is not");
        };
    }

    /// A party that destroys the wait list after its arrival, although a withdrawal may be under
    /// way (I5).
    auto destroyer(colour own, plan p = plan::waits) {
        pins_ = std::make_unique<detail::atomic<std::uint32_t>>(0U);
        return [this, own, p, mine = add(own)] {
            arrive(mine, own, p);
            the_checker().use(bell_, false, "listens", site::current());
            if (count(rung_, 0) == 1) {
                close();
                for (std::size_t i = 0; i != count_; ++i) {
                    if (i != mine && records[i].end != fate::none && records[i].end != fate::gone) {
                        return; // claimed: its withdrawal fails, which the protocol waits for
                    }
                }
                while (!WaitList::withdraws_in_one_step &&
                       pins_->load(std::memory_order_acquire) != 0) {
                    the_checker().wait_for_change(site::current());
                }
                delete std::exchange(list_, nullptr);
            }
        };
    }

    /// Runs the threads, and checks what they leave.
    template <class... Body>
    void run(Body... bodies) {
        run_threads(bodies...);
        finish();
    }

    /// Checks what the threads have left.
    void finish() {
        std::array<bool, 3> waits{};
        for (std::size_t i = 0; i != count_; ++i) {
            waits.at(static_cast<std::size_t>(records[i].side)) |= records[i].end == fate::waits;
        }
        require(!waits[1] || !waits[2], "red and blue wait together");
        if (list_ != nullptr) {
            require(!list_->is_closed() || (!waits[1] && !waits[2]),
                    "one waits, and all is closed");
            close();
        }
        for (std::size_t i = 0; i != count_; ++i) {
            require(records[i].end != fate::none && records[i].end != fate::waits,
                    "a waiter is lost");
            require(records[i].end != fate::met || records[records[i].mate].mate == i,
                    "a meeting is one-sided");
        }
    }

private:
    struct guest : detail::waiter {
        std::size_t number = 0;
        std::size_t touched = 0; ///< Plain: whose it is writes it.
    };

    std::size_t add(colour own) {
        records.at(count_).side = own;
        guests_.at(count_) = new guest;
        guests_[count_]->number = count_;
        return count_++;
    }

    void arrive(std::size_t mine, colour own, plan p) {
        guest& w = *guests_[mine];
        w.touched = mine;
        while (true) {
            const bool offers = p != plan::tries;
            match_result seen{match_result::empty};
            if (p == plan::tries || WaitList::spreads) {
                seen = list_->try_match(own);
            }
            if (offers &&
                (seen.kind == match_result::empty || seen.kind == match_result::own_side)) {
                seen = list_->enqueue_or_match(w, own);
            }
            switch (seen.kind) {
            case match_result::partner: {
                auto& q = static_cast<guest&>(*seen.claimed);
                records[mine].mate = q.number;
                records[q.number].mate = mine;
                end(w, fate::met);
                require(records[q.number].side == opposite(own), "like colours have met");
                end(q, fate::met);
                return;
            }
            case match_result::closed:
                // A plain access: the close happens-before whoever comes too late.
                require(closing_, "one finds closed what is not");
                require(list_->is_closed(), "one finds closed what the next may find open");
                end(w, fate::closed);
                return;
            case match_result::offered:
                if (p == plan::quits && withdraw(w, own)) {
                    end(w, fate::gone);
                } else if (records[mine].end == fate::none) {
                    records[mine].end = fate::waits;
                }
                return;
            case match_result::out_of_memory:
                require(starves_, "out of memory");
                end(w, fate::no_memory);
                return;
            default:
                if (!offers && seen.kind != match_result::collided) {
                    end(w, fate::nobody);
                    return;
                }
            }
        }
    }

    /// Withdraws as the protocol does, where that matters: counted and then uncounted, unless it is
    /// one step.
    bool withdraw(guest& w, colour own) {
        if (!pins_) {
            return list_->withdraw(w, own);
        }
        the_checker().use(bell_, true, "rings", site::current());
        count(rung_, 1);
        if (WaitList::withdraws_in_one_step) {
            return list_->withdraw(w, own);
        }
        pins_->fetch_add(1, std::memory_order_relaxed);
        const bool out = list_->withdraw(w, own);
        pins_->fetch_sub(1, std::memory_order_release);
        return out;
    }

    /// Adds to a number unseen by the race detector.
    __attribute__((no_sanitize("thread"), noinline)) static int count(int& number,
                                                                      int more) noexcept {
        return number += more;
    }

    void close() {
        const auto expel = [](detail::waiter& q) { end(static_cast<guest&>(q), fate::closed); };
        const auto keep = [](detail::waiter& /*q*/) { return true; };
        if (detail::waiter* const last = list_->close(keep, expel)) {
            expel(*last);
        }
    }

    /// Ends the wait of `w`, which is the caller's.
    static void end(guest& w, fate how) {
        record& its = records[w.number];
        require(its.end == fate::none || its.end == fate::waits, "a waiter is completed twice");
        its.end = how;
        w.touched += 1;
    }

    WaitList* list_;
    shared_object bell_; // tells that something has been done or begins, and orders nothing
    int rung_ = 0;
    std::unique_ptr<detail::atomic<std::uint32_t>> pins_; // only if there is a destroyer
    std::size_t count_ = 0;
    bool closing_ = false;
    bool starves_ = false;
    std::array<guest*, 24> guests_{};
    guest nobody_;
};

template <class WaitList>
void meet() {
    crowd<WaitList> c;
    c.run(c.party(red), c.party(blue));
}

template <class WaitList>
void meet_or_quit() {
    crowd<WaitList> c;
    c.run(c.party(red, plan::quits), c.party(blue));
}

template <class WaitList>
void two_meet_one() {
    crowd<WaitList> c;
    c.run(c.party(red), c.party(red), c.party(blue));
}

template <class WaitList>
void two_meet_two() {
    crowd<WaitList> c;
    c.arrive(red);
    c.run(c.party(red), c.party(blue), c.party(blue));
}

template <class WaitList>
void meet_or_close() {
    crowd<WaitList> c;
    c.run(c.party(red), c.party(blue), c.closer());
}

template <class WaitList>
void quit_or_close() {
    crowd<WaitList> c;
    c.run(c.party(red, plan::quits, 2), c.closer());
}

template <class WaitList>
void one_tries() {
    crowd<WaitList> c;
    c.run(c.party(red, plan::tries), c.party(blue), c.party(red));
}

// A red that tries passes the cell of a blue that began earlier, but not the cell to which that
// blue moves on. Otherwise it could go on for ever.
void tries_once() {
    crowd<queue> c;
    the_checker().forbid_twice(reaches(step::passing_over));
    c.run(c.party(red, plan::tries), c.party(blue));
}

template <class WaitList>
void again_and_again() {
    crowd<WaitList> c;
    c.run(c.party(red, plan::waits, 3), c.party(blue, plan::waits, 3));
}

template <class WaitList>
void again_and_again_quitting() {
    crowd<WaitList> c;
    c.run(c.party(red, plan::quits, 2), c.party(blue, plan::quits, 2));
}

template <class WaitList>
void one_asks() {
    crowd<WaitList> c;
    c.run(c.asker(), c.closer());
}

template <class WaitList>
void one_tries_or_closes() {
    crowd<WaitList> c;
    c.run(c.party(red, plan::tries), c.closer());
}

template <class WaitList>
void quit_and_destroy() {
    crowd<WaitList> c;
    c.run(c.party(red, plan::quits), c.destroyer(blue));
}

template <class WaitList>
void quit_and_try_and_destroy() {
    crowd<WaitList> c;
    c.run(c.party(red, plan::quits), c.destroyer(blue, plan::tries));
}

// One waits before the others come: whoever is the first of the other colour must meet it.

template <class WaitList>
void first_of_two() {
    crowd<WaitList> c;
    c.arrive(red);
    c.run(c.party(red), c.party(blue));
    c.require_first_met();
}

template <class WaitList>
void met_by_try() {
    crowd<WaitList> c;
    c.arrive(red);
    c.run(c.party(red, plan::quits), c.party(blue, plan::tries));
    c.require_first_met();
}

template <class WaitList>
void met_by_one_of_two() {
    crowd<WaitList> c;
    c.arrive(red);
    c.run(c.party(blue, plan::tries), c.party(blue, plan::tries));
    c.require_first_met();
}

// The second blue waits when the red tries; the first may still be on its way to an earlier place.
template <class WaitList>
void try_behind_another() {
    crowd<WaitList> c;
    const auto blue_and_red = c.parties({blue, red}, plan::tries);
    c.run(blue_and_red, c.party(blue));
    c.require_met(1);
}

template <class WaitList>
void two_close() {
    crowd<WaitList> c;
    c.run(c.party(red), c.one_closer(), c.one_closer());
}

template <class WaitList>
void close_over_two() {
    crowd<WaitList> c;
    c.arrive(red);
    c.run(c.party(blue), c.party(red), c.closer());
}

// Segments used again.
void recycled() {
    crowd<queue> c;
    c.arrive(red);
    c.arrive(blue);
    c.arrive(red);
    c.arrive(blue);
    c.run(c.party(red, plan::waits, 2), c.party(blue, plan::waits, 2));
}

// The second red finds the segment that the first has linked, and must see that its cell is empty
// again.
void recycled_for_another() {
    crowd<queue> c;
    c.arrive(red);
    c.arrive(blue);
    c.arrive(red);
    c.arrive(blue);
    the_checker().forbid(reaches(step::vacancy));
    c.run(c.party(red), c.party(red));
}

void recycled_and_closed() {
    crowd<queue> c;
    c.arrive(red);
    c.arrive(blue);
    c.arrive(red);
    c.arrive(blue);
    c.run(c.party(red), c.party(blue), c.closer());
}

// The last red walks along segments that are finished, released, and used again meanwhile.
void walk_over_recycled() {
    crowd<queue> c;
    c.arrive(blue);
    c.arrive(blue);
    c.arrive(red);
    c.run(c.party(red), c.parties({red, blue, blue}));
}

void try_over_recycled() {
    crowd<queue> c;
    c.arrive(blue);
    c.arrive(blue);
    c.arrive(blue);
    c.run(c.parties({red, red, blue}), c.party(red, plan::tries));
    c.require_first_met();
}

// Five blues have left three vacant segments and two waiters; the next sweeps one segment, to which
// the reds are coming.

template <class WaitList>
void leave_one(crowd<WaitList>& c, colour own) {
    c.come_and_go(own, 3);
    c.arrive(own);
    c.arrive(own);
}

void swept_one() {
    crowd<queue> c;
    leave_one(c, blue);
    c.run(c.party(blue), c.party(red));
    c.require_first_met();
}

void swept_one_of_red() {
    crowd<queue> c;
    leave_one(c, red);
    c.run(c.party(red), c.party(blue));
    c.require_first_met();
}

void swept_one_and_tried() {
    crowd<queue> c;
    leave_one(c, blue);
    c.run(c.party(blue, plan::waits, 2), c.party(red, plan::tries));
    c.require_first_met();
}

void swept_one_and_reused() {
    crowd<queue> c;
    leave_one(c, blue);
    c.run(c.party(red), c.party(blue, plan::waits, 2));
    c.require_first_met();
}

// Three blues wait in all segments that there is memory for, and two of them leave. The segment
// that the red has found is swept, and used again for another blue, before the red has its ticket.
void swept_one_and_tried_late() {
    crowd<queue> c;
    c.arrive(blue);
    c.arrive(blue);
    c.starve(1'000, true);
    c.arrive(blue);
    c.leave(0);
    c.leave(1);
    const auto late = c.party(blue);
    const auto tries = c.party(red, plan::tries);
    c.run(late, tries);
    c.require_met(c.count() - 1, 2);
}

// The sweep is over. A red whose segment is gone may be late, when the next one has met a blue
// behind it.
void swept_before_two() {
    crowd<queue> c;
    leave_one(c, blue);
    c.arrive(blue);
    c.run(c.party(red), c.party(red));
    c.require_first_met();
}

void swept_one_and_closed() {
    crowd<queue> c;
    leave_one(c, blue);
    c.run(c.party(blue), c.party(red), c.closer());
}

// Two reds meet the blues that wait first. The third must meet another one, behind the segment
// that is swept.
void swept_one_and_tried_thrice() {
    crowd<queue> c;
    c.arrive(blue);
    c.arrive(blue);
    c.come_and_go(blue);
    c.arrive(blue);
    c.arrive(blue);
    const std::size_t first = c.count();
    const auto reds = c.party(red, plan::tries, 3);
    c.run(reds, c.party(blue, plan::waits, 2));
    for (std::size_t i = 0; i != 3; ++i) {
        c.require_met(first + i, i);
    }
}

// No memory for some segments. The first red and the first blue have used the only segment.

template <class WaitList>
void use_first_segment(crowd<WaitList>& c) {
    c.starve(8, true);
    for (unsigned i = 0; i != c.cells; ++i) {
        c.arrive(red);
        c.arrive(blue);
    }
}

/// Those who wait are met when there is memory again, and so are those who come then.
template <class WaitList>
void come_afterwards(crowd<WaitList>& c) {
    c.starve(0);
    c.meet_all();
    c.arrive(blue);
    c.meet_all();
    c.finish();
}

template <class WaitList>
void poor_meet() {
    crowd<WaitList> c;
    use_first_segment(c);
    c.starve(3);
    run_threads(c.party(red), c.party(blue));
    come_afterwards(c);
}

template <class WaitList>
void two_poor() {
    crowd<WaitList> c;
    use_first_segment(c);
    c.starve(4);
    run_threads(c.party(red), c.party(red));
    come_afterwards(c);
}

// The second red keeps the last segment that there is memory for, when the blue comes. The first
// may be about to append one with the blue's ticket.
template <class WaitList>
void three_poor() {
    crowd<WaitList> c;
    use_first_segment(c);
    c.starve(2);
    run_threads(c.party(red), c.party(red), c.party(blue));
    come_afterwards(c);
}

template <class WaitList>
void starved() {
    crowd<WaitList> c;
    use_first_segment(c);
    c.starve(1'000, true);
    run_threads(c.party(red), c.party(blue));
    come_afterwards(c);
}

template <class WaitList>
void poor_try() {
    crowd<WaitList> c;
    use_first_segment(c);
    c.starve(2);
    run_threads(c.party(red), c.party(blue, plan::tries));
    come_afterwards(c);
}

template <class WaitList>
void poor_close() {
    crowd<WaitList> c;
    use_first_segment(c);
    c.starve(3);
    c.run(c.party(red), c.closer());
}

// Three blues have been met in three segments, which nobody has taken out yet.
template <class WaitList>
void leave_three(crowd<WaitList>& c) {
    for (const colour own : {blue, blue, blue, red, red, red}) {
        c.arrive(own);
    }
}

void tidied_by_two() {
    crowd<queue> c;
    leave_three(c);
    run_threads(c.party(blue), c.party(blue));
    c.meet_all();
    c.finish();
}

void tidied_by_two_and_walked() {
    crowd<queue> c;
    leave_three(c);
    c.run(c.party(blue), c.party(blue), c.party(red, plan::tries));
}

void tidied_by_two_and_closed() {
    crowd<queue> c;
    leave_three(c);
    c.run(c.party(blue), c.party(blue), c.closer());
}

// The last thread begins first, so that one preemption makes it late wherever it may be, for as
// long as five pairs take. Meanwhile a segment leaves the list and comes back.
void tidied_late() {
    crowd<queue> c;
    leave_three(c);
    run_threads(c.parties({red, blue, red, blue, red, blue, red, blue, red, blue}), c.party(blue));
    c.meet_all();
    c.finish();
}

// The same, and there is no memory: whoever is late keeps nobody else from using segments again.
void held() {
    crowd<queue> c;
    leave_three(c);
    c.require_no_growth();
    const auto others = c.parties(
        {red, blue, red, blue, red, blue, red, blue, red, blue, red, blue, red, blue, red, blue});
    c.run(others, c.parties({blue, red}));
}

void held_while_sweeping() {
    crowd<queue> c;
    c.arrive(blue);
    c.come_and_go(blue, 3);
    c.require_no_growth();
    c.run(c.party(blue, plan::quits, 8), c.party(blue, plan::quits));
}

void swept_by_two() {
    crowd<queue> c;
    c.arrive(blue);
    c.come_and_go(blue, 4);
    run_threads(c.party(blue, plan::quits, 3), c.party(blue));
    c.meet_all();
    c.finish();
}

void swept_by_two_and_met() {
    crowd<queue> c;
    c.arrive(blue);
    c.come_and_go(blue, 4);
    c.run(c.party(blue, plan::quits, 2), c.party(blue, plan::quits, 2),
          c.party(red, plan::waits, 2));
}

// The list alone, with one cell in a segment.
class segments {
    using list = detail::segment_list<0>;

public:
    /// There are segments for the tickets before `end`, and both cursors are at `passed`.
    segments(list::ticket end, list::ticket passed) : cursor_(passed << 1U) {
        for (list::ticket t = 1; t != end; ++t) {
            append();
        }
    }

    void append() {
        const auto at = last();
        list_.append(at);
        list_.advance(from_, at, 1);
    }
    list::place last() { return list_.find(list::ticket{1} << 40U, from_); }
    void append_behind(list::place at) { list_.append(at); }
    void finish(list::ticket t) {
        cell_of(t).store(list::finished_cell, std::memory_order_release);
    }
    void cancel(list::ticket t) {
        cell_of(t).store(list::cancelled_cell, std::memory_order_release);
    }
    bool has(list::ticket t) { return list_.find(t, from_).first == t; }
    void tidy() { list_.tidy(cursor_); }
    void pass(list::ticket t) { cursor_.store(t << 1U, std::memory_order_relaxed); }
    void require_there(list::ticket t) { static_cast<void>(cell_of(t)); }

private:
    detail::atomic<list::word>& cell_of(list::ticket t) {
        const auto at = list_.find(t, from_);
        require(at.first == t, "a segment is lost");
        return list_.cell(at.n, t);
    }

    list list_;
    list::front from_{list_.first()};
    detail::atomic<std::uint64_t> cursor_;
};

// One takes out as many segments as it may, behind the first one, which the other takes out. Then
// segments are used again.
void taken_out_together() {
    segments list(8, 6);
    for (unsigned t = 1; t != 5; ++t) {
        list.finish(t);
    }
    run_threads(
        [&] {
            list.finish(0);
            list.tidy();
            list.require_there(5);
        },
        [&] {
            list.tidy();
            list.append();
            list.append();
        });
    list.require_there(6);
    list.require_there(9);
}

// One appends, late: meanwhile another has, and has used up and released that segment.
void appended_late() {
    segments list(2, 1'000);
    run_threads(
        [&] {
            list.append();
            list.append();
            for (unsigned t = 0; t != 3; ++t) {
                list.finish(t);
            }
            list.tidy();
        },
        [&] { list.append(); });
    list.require_there(3);
}

// All cells have been visited. The last segment stays, because the next one comes behind it.
void last_stays() {
    segments list(2, 1'000);
    list.finish(0);
    run_threads(
        [&] {
            list.finish(1);
            list.tidy();
        },
        [&] { list.append(); });
    list.require_there(2);
}

// Two append behind the same segment. The one that comes too late gives its segment back: there is
// no memory for a fourth.
void appended_twice() {
    segments list(1, 1'000);
    const auto last = list.last();
    run_threads([&] { list.append_behind(last); }, [&] { list.append_behind(last); });
    the_checker().starve(1'000, true);
    list.append();
    list.require_there(2);
}

// The other colour skips what is being swept. Not more than one of the segments is lost.
void swept_and_skipped() {
    segments list(7, 0);
    for (unsigned t = 1; t != 6; ++t) {
        list.cancel(t);
    }
    list.tidy(); // the next one sweeps
    the_checker().starve(1'000, true);
    run_threads([&] { list.pass(6); }, [&] { list.tidy(); });
    for (unsigned t = 0; t != 6; ++t) {
        if (list.has(t)) {
            list.finish(t);
        }
    }
    list.tidy();
    list.tidy();
    for (unsigned i = 0; i != 5; ++i) {
        list.append();
    }
    list.require_there(11);
}

// The first segment stays. Behind it segments come and go, until the one that was behind it first
// is there again.
void taken_out_again() {
    segments list(4, 1'000);
    list.finish(1);
    list.finish(2);
    run_threads(
        [&] {
            for (unsigned t = 3; t != 7; ++t) {
                list.tidy();
                list.append();
                list.finish(t);
            }
            list.require_there(7);
        },
        [&] { list.tidy(); });
    list.require_there(0);
    list.require_there(7);
}

// Each blue that has withdrawn has left a segment; the next arrival grows the list, and sweeps.

void swept() {
    crowd<queue> c;
    c.come_and_go(blue, 5);
    c.run(c.party(blue), c.party(red));
}

void swept_and_closed() {
    crowd<queue> c;
    c.come_and_go(blue, 5);
    c.run(c.party(blue), c.closer());
}

void swept_over_waiter() {
    crowd<queue> c;
    c.come_and_go(blue, 3);
    c.arrive(blue);
    c.come_and_go(blue);
    c.run(c.party(blue), c.party(red, plan::waits, 2));
}

void swept_while_quitting() {
    crowd<queue> c;
    c.come_and_go(blue, 4);
    c.run(c.party(blue, plan::quits, 2), c.party(red, plan::tries));
}

void swept_before_waiter() {
    crowd<queue> c;
    c.come_and_go(blue, 4);
    c.arrive(blue);
    c.run(c.party(blue, plan::quits), c.closer());
}

void refilled() {
    crowd<stack> c;
    c.come_and_go(red);
    c.run(c.party(red), c.party(blue));
}

void refilled_twice() {
    crowd<stack> c;
    c.come_and_go(red);
    c.run(c.party(red, plan::quits), c.party(red), c.party(blue));
}

void refilled_or_closed() {
    crowd<stack> c;
    c.come_and_go(red);
    c.run(c.party(red), c.closer());
}

void disowned() {
    crowd<stack> c;
    c.run(c.party(red, plan::quits), c.party(blue), c.party(blue));
}

// Between the blue that disowns a node and the one that pops it, a third node enters and leaves the
// pool.
void disowned_to_another() {
    crowd<stack> c;
    c.arrive(red);
    c.arrive(red);
    c.arrive(blue);
    c.arrive(blue);
    run_threads(c.party(red, plan::quits), c.party(blue), c.party(blue));
    c.arrive(blue);
    c.finish();
}

// ---- Below the protocol: coroutines, stops, the end

constexpr auto endless = patience::endless;
constexpr auto until_stop = patience::until_stop;

template <class WaitList>
class salon {
public:
    /// @param slots  of the arena. If there are any, arrivals use it from the start.
    explicit salon(std::size_t slots = 0) : protocol_(new protocol(slots)) {
        records.fill({});
        destroyed = false;
        if constexpr (WaitList::eliminates) {
            if (slots != 0) {
                test::arena_of(*protocol_).grow();
            }
        }
    }
    ~salon() { destroy(); }
    salon(const salon&) = delete;
    salon& operator=(const salon&) = delete;

    /// @param looks  whether it looks at the list first although the arena is in use.
    template <colour Own>
    auto loop(patience kind, bool destroys = false, bool looks = false) {
        const std::size_t mine = parties_++;
        return [this, mine, kind, destroys, looks, on = loops_++] {
            test::let_next_arrival_look(looks);
            serial_loop& here = loop_.at(on);
            here.run([&] {
                here.begin_work();
                party<Own>(*this, here, mine, kind, destroys);
            });
        };
    }
    /// A party without an executor, which waits in the list now, before the threads start.
    template <colour Own>
    void wait_below() {
        guest<Own>(*this, parties_++, endless);
    }

    /// The position of a party that has withdrawn, and then a party that waits, both without an
    /// executor. When the latter resumes, it destroys the coroutine of `doomed` if that is
    /// suspended.
    template <colour Own>
    void wait_above_vacancy() {
        guest<Own>(*this, parties_++, until_stop);
        killer<Own>(*this, parties_++);
        stop_.request_stop();
    }
    /// A party without an executor.
    template <colour Own>
    auto doomed() {
        return [this, mine = parties_++] {
            const auto coroutine = doomed_party<Own>(*this, mine);
            if (records[mine].end ==
                fate::waits) { // still the step that left its waiter in the list
                // Release, pairs with the load in `killer`: its frame.
                suspended_->store(reinterpret_cast<std::uintptr_t>(coroutine.address()),
                                  std::memory_order_release);
            }
        };
    }

    /// As above, for `destroyer` to know that it has begun to wait.
    template <colour Own>
    auto watched_loop(patience kind) {
        ++watched_;
        return [body = loop_of<Own>(kind)] { body(); };
    }
    auto destroyer() {
        return [this] {
            the_checker().await(waiting_, watched_, "all have begun to wait", site::current());
            destroy();
        };
    }
    auto canceller() {
        return [this] { stop_.request_stop(); };
    }
    auto closer() {
        return [this] { protocol_->close(); };
    }

    template <class... Body>
    void run(Body... bodies) {
        start(bodies...);
        the_checker().settle();
        std::array<bool, 3> waits{};
        for (std::size_t i = 0; i != parties_; ++i) {
            waits.at(static_cast<std::size_t>(records[i].side)) |= records[i].end == fate::waits;
        }
        require(!waits[1] || !waits[2], "red and blue wait together");
        if (!destroyed) {
            protocol_->close();
        }
        the_checker().join();
        for (std::size_t i = 0; i != parties_; ++i) {
            require(records[i].end != fate::waits, "a party has never ended");
            require(records[i].end != fate::met || records[records[i].mate].mate == i,
                    "a meeting is one-sided");
        }
    }

private:
    using protocol = detail::protocol<WaitList>;
    template <colour Own>
    using side = detail::factory<detail::side<WaitList, parcel, parcel, Own>>;
    static inline bool destroyed = false;

    template <colour Own>
    auto loop_of(patience kind) {
        const std::size_t mine = parties_++;
        return [this, mine, kind, on = loops_++] {
            serial_loop& here = loop_.at(on);
            here.run([&] {
                here.begin_work();
                party<Own>(*this, here, mine, kind, false);
                the_checker().publish(waiting_, "has begun to wait", site::current());
            });
        };
    }

    template <colour Own>
    static detached party(salon& s, serial_loop& on, std::size_t mine, patience kind,
                          bool destroys) {
        records.at(mine).side = Own;
        records.at(mine).end = fate::waits;
        if (kind == until_stop) {
            s.enter(mine, co_await side<Own>::make_exchange(*s.protocol_, parcel(mine),
                                                            detail::stop_token(s.stop_)));
        } else {
            s.enter(mine, co_await side<Own>::make_exchange(*s.protocol_, parcel(mine)));
        }
        if (destroys && records[mine].end == fate::met) {
            s.destroy();
        }
        on.end_work();
    }

    /// A coroutine whose frame may be destroyed while it waits; otherwise it goes with its last
    /// statement.
    struct doomed_frame : std::coroutine_handle<> {
        struct promise_type : detached::promise_type {
            doomed_frame get_return_object() noexcept {
                return {std::coroutine_handle<promise_type>::from_promise(*this)};
            }
        };
    };

    template <colour Own>
    static detached guest(salon& s, std::size_t mine, patience kind) {
        records.at(mine).side = Own;
        records.at(mine).end = fate::waits;
        if (kind == until_stop) {
            s.enter(mine, co_await side<Own>::make_exchange(*s.protocol_, parcel(mine),
                                                            detail::stop_token(s.stop_)));
        } else {
            s.enter(mine, co_await side<Own>::make_exchange(*s.protocol_, parcel(mine)));
        }
    }

    template <colour Own>
    static detached killer(salon& s, std::size_t mine) {
        s.suspended_ = std::make_unique<detail::atomic<std::uintptr_t>>(0U);
        records.at(mine).side = Own;
        records.at(mine).end = fate::waits;
        s.enter(mine, co_await side<Own>::make_exchange(*s.protocol_, parcel(mine)));
        // Acquire, pairs with the store in `doomed`.
        if (const std::uintptr_t frame = s.suspended_->load(std::memory_order_acquire)) {
            records.at(s.doomed_).end = fate::gone;
            std::coroutine_handle<>::from_address(reinterpret_cast<void*>(frame)).destroy();
        }
    }

    template <colour Own>
    static doomed_frame doomed_party(salon& s, std::size_t mine) {
        s.doomed_ = mine;
        records.at(mine).side = Own;
        records.at(mine).end = fate::waits;
        s.enter(mine, co_await side<Own>::make_exchange(*s.protocol_, parcel(mine)));
    }

    template <class Result>
    void enter(std::size_t mine, Result got) {
        record& its = records.at(mine);
        require(its.end == fate::waits, "a party has ended twice");
        if (got) {
            its.mate = (*got).from();
            its.end = fate::met;
            require(records[its.mate].side == opposite(its.side), "like colours have met");
            return;
        }
        its.end = fate::gone;
        require(got.returned().from() == mine, "a failed exchange has returned another's parcel");
    }

    void destroy() noexcept {
        if (!std::exchange(destroyed, true)) {
            delete protocol_;
        }
    }

    shared_object waiting_;
    std::uint32_t watched_ = 0;
    protocol* protocol_;
    stop_source stop_;
    std::unique_ptr<detail::atomic<std::uintptr_t>> suspended_; // the frame of `doomed`
    std::size_t doomed_ = 0;
    std::size_t parties_ = 0;
    std::size_t loops_ = 0;
    std::array<serial_loop, 4> loop_;
};

template <class WaitList>
void red_and_blue() {
    salon<WaitList> s;
    s.run(s.template loop<red>(endless), s.template loop<blue>(endless));
}

template <class WaitList>
void red_and_blue_and_canceller() {
    salon<WaitList> s;
    s.run(s.template loop<red>(until_stop), s.template loop<blue>(endless), s.canceller());
}

template <class WaitList>
void red_and_blue_and_closer() {
    salon<WaitList> s;
    s.run(s.template loop<red>(endless), s.template loop<blue>(until_stop), s.closer());
}

template <class WaitList>
void two_reds_and_blue_and_canceller() {
    salon<WaitList> s;
    s.run(s.template loop<red>(until_stop), s.template loop<red>(endless),
          s.template loop<blue>(endless), s.canceller());
}

template <class WaitList>
void destroyed_by_red() {
    salon<WaitList> s;
    s.run(s.template loop<red>(endless, true), s.template loop<blue>(until_stop), s.canceller());
}

template <class WaitList>
void destroyed_over_red() {
    salon<WaitList> s;
    s.run(s.template watched_loop<red>(until_stop), s.destroyer(), s.canceller());
}

template <class WaitList>
void destroyed_over_two_reds() {
    salon<WaitList> s;
    s.run(s.template watched_loop<red>(until_stop), s.template watched_loop<red>(endless),
          s.destroyer(), s.canceller());
}

// A closer resumes a party, which destroys another one that has suspended meanwhile.
template <class WaitList>
void closed_over_killer() {
    salon<WaitList> s;
    s.template wait_above_vacancy<red>();
    s.run(s.template doomed<red>(), s.closer());
}

// Elimination: the arena is in use from the start.

template <class WaitList>
void in_arena() {
    salon<WaitList> s(1);
    s.run(s.template loop<red>(endless), s.template loop<blue>(endless));
}

template <class WaitList>
void in_arena_over_red() {
    salon<WaitList> s(1);
    s.template wait_below<red>();
    s.run(s.template loop<red>(endless), s.template loop<blue>(endless));
}

template <class WaitList>
void in_arena_over_blue() {
    salon<WaitList> s(1);
    s.template wait_below<blue>();
    s.run(s.template loop<red>(endless), s.template loop<blue>(endless));
}

template <class WaitList>
void in_arena_over_red_and_canceller() {
    salon<WaitList> s(1);
    s.template wait_below<red>();
    s.run(s.template loop<red>(until_stop), s.template loop<blue>(endless), s.canceller());
}

template <class WaitList>
void in_arena_over_red_and_closer() {
    salon<WaitList> s(1);
    s.template wait_below<red>();
    s.run(s.template loop<red>(endless), s.template loop<blue>(endless), s.closer());
}

template <class WaitList>
void two_reds_in_arena() {
    salon<WaitList> s(1);
    s.run(s.template loop<red>(endless), s.template loop<red>(endless),
          s.template loop<blue>(endless));
}

template <class WaitList>
void two_reds_in_arena_over_blue() {
    salon<WaitList> s(1);
    s.template wait_below<blue>();
    s.run(s.template loop<red>(endless), s.template loop<red>(endless),
          s.template loop<blue>(endless));
}

template <class WaitList>
void in_arena_destroyed_by_red() {
    salon<WaitList> s(1);
    s.run(s.template loop<red>(endless, true), s.template loop<blue>(until_stop), s.canceller());
}

// The blue must meet the red that waits. Only after a spurious failure it would offer in the arena.
void in_arena_over_red_and_look() {
    salon<stack> s(1);
    s.wait_below<red>();
    the_checker().forbid_spurious_failures();
    the_checker().forbid(reaches(step::offer_in_arena, step::claim_in_arena));
    s.run(s.loop<blue>(endless, false, true));
    crowd<stack>::require_met(0);
}

constexpr std::array all{
    scene{"fifo_meet", "dual queue: red and blue", meet<queue>},
    scene{"fifo_quit", "dual queue: red withdraws", meet_or_quit<queue>, reaches(step::vacancy)},
    scene{"fifo_two_meet_one", "dual queue: two reds and a blue", two_meet_one<wide_queue>},
    scene{"fifo_two_meet_two", "dual queue: two reds and two blues", two_meet_two<wide_queue>},
    scene{"fifo_close", "dual queue: red, blue and a close", meet_or_close<queue>},
    scene{"fifo_quit_close", "dual queue: red withdraws twice; a close", quit_or_close<queue>},
    scene{"fifo_try", "dual queue: a red that only tries", one_tries<queue>,
          reaches(step::passing_over)},
    scene{"fifo_try_once", "dual queue: a red that only tries, and one blue", tries_once,
          reaches(step::passing_over)},
    scene{"fifo_ask_close", "dual queue: one party asks whether it is closed", one_asks<queue>},
    scene{"fifo_try_close", "dual queue: a red that only tries, and a close",
          one_tries_or_closes<queue>},
    scene{"fifo_quit_destroy", "dual queue: red withdraws, blue arrives and destroys it",
          quit_and_destroy<queue>, reaches(step::vacancy)},
    scene{"fifo_quit_try_destroy", "the same, and blue only tries", quit_and_try_and_destroy<queue>,
          reaches(step::vacancy)},
    scene{"fifo_again", "dual queue: three reds in turn, three blues in turn",
          again_and_again<wide_queue>, reaches(step::recycling)},
    scene{"fifo_again_quit", "dual queue: two reds and two blues, who withdraw",
          again_and_again_quitting<queue>, reaches(step::vacancy)},
    scene{"fifo_recycled", "dual queue: segments are recycled", recycled, reaches(step::recycling)},
    scene{"fifo_recycled_for", "dual queue: a segment that another red has linked",
          recycled_for_another},
    scene{"fifo_first", "dual queue: red waits; red and blue", first_of_two<queue>},
    scene{"fifo_first_tried", "dual queue: red waits; red withdraws, and a blue tries",
          met_by_try<queue>},
    scene{"fifo_first_tried_twice", "dual queue: red waits; two blues try",
          met_by_one_of_two<queue>},
    scene{"fifo_wide_first", "the same with two cells in a segment", first_of_two<wide_queue>},
    scene{"fifo_wide_first_tried", "the same", met_by_try<wide_queue>},
    scene{"fifo_wide_meet", "the same: red and blue", meet<wide_queue>},
    scene{"fifo_wide_quit", "the same: red withdraws", meet_or_quit<wide_queue>,
          reaches(step::vacancy)},
    scene{"fifo_wide_close", "the same: red, blue and a close", meet_or_close<wide_queue>},
    scene{"fifo_wide_quit_close", "the same: red withdraws twice; a close",
          quit_or_close<wide_queue>},
    scene{"fifo_wide_try", "the same: a red that only tries", one_tries<wide_queue>,
          reaches(step::passing_over)},
    scene{"fifo_try_behind", "dual queue: blue; blue, and then a red that tries",
          try_behind_another<queue>, reaches(step::passing_over)},
    scene{"fifo_two_close", "dual queue: red, and two close it", two_close<queue>},
    scene{"fifo_close_two", "dual queue: a close over a red and two more parties",
          close_over_two<queue>},
    scene{"fifo_recycled_close", "dual queue: segments are recycled; a close", recycled_and_closed,
          reaches(step::recycling)},
    scene{"fifo_walked", "dual queue: a red walks along segments that are used again",
          walk_over_recycled, reaches(step::recycling)},
    scene{"fifo_walked_tried", "dual queue: the same, and it tries", try_over_recycled,
          reaches(step::recycling)},
    scene{"fifo_swept_one", "dual queue: one segment is swept, and a red in the way", swept_one,
          reaches(step::sweeping)},
    scene{"fifo_swept_one_tried_late", "dual queue: it is used again, and a red tries",
          swept_one_and_tried_late, reaches(step::sweeping)},
    scene{"fifo_swept_before_two", "dual queue: one segment was swept, and two reds in the way",
          swept_before_two},
    scene{"fifo_swept_one_of_red", "dual queue: the same with the colours swapped",
          swept_one_of_red, reaches(step::sweeping)},
    scene{"fifo_swept_one_tried", "dual queue: the same, reused; a red tries", swept_one_and_tried,
          reaches(step::sweeping)},
    scene{"fifo_swept_one_reused", "dual queue: the same, reused; a red", swept_one_and_reused,
          reaches(step::sweeping)},
    scene{"fifo_swept_one_closed", "dual queue: one segment is swept; a red, and a close",
          swept_one_and_closed, reaches(step::sweeping)},
    scene{"fifo_swept_one_tried_thrice",
          "dual queue: one segment is swept and reused; three reds try", swept_one_and_tried_thrice,
          reaches(step::sweeping)},
    scene{"fifo_poor", "dual queue, no memory at times: red and blue", poor_meet<queue>},
    scene{"fifo_poor_two", "dual queue, no memory at times: two reds", two_poor<queue>},
    scene{"fifo_poor_three", "dual queue, no memory at times: two reds and a blue",
          three_poor<queue>},
    scene{"fifo_starved", "dual queue, no memory for red and blue", starved<queue>},
    scene{"fifo_poor_try", "dual queue, no memory at times: a red, and a blue tries",
          poor_try<queue>},
    scene{"fifo_poor_close", "dual queue, no memory at times: a red and a close",
          poor_close<queue>},
    scene{"fifo_wide_poor_two", "two cells, no memory at times: two reds", two_poor<wide_queue>},
    scene{"fifo_wide_poor_close", "two cells, no memory at times: a red and a close",
          poor_close<wide_queue>},
    scene{"fifo_swept", "dual queue: a sweep, and a red in the way", swept,
          reaches(step::sweeping)},
    scene{"fifo_swept_closed", "dual queue: a sweep and a close", swept_and_closed,
          reaches(step::sweeping)},
    scene{"fifo_swept_over", "dual queue: a sweep on both sides of a waiter", swept_over_waiter,
          reaches(step::sweeping)},
    scene{"fifo_swept_before", "dual queue: a sweep before a waiter, and a close",
          swept_before_waiter, reaches(step::sweeping)},
    scene{"fifo_swept_quit", "dual queue: a sweep, withdrawals, and a red that tries",
          swept_while_quitting},

    scene{"fifo_tidied", "dual queue: two take out the same segments", tidied_by_two,
          reaches(step::recycling)},
    scene{"fifo_tidied_tried", "dual queue: the same, and a red tries", tidied_by_two_and_walked,
          reaches(step::recycling)},
    scene{"fifo_tidied_closed", "dual queue: the same, and a close", tidied_by_two_and_closed,
          reaches(step::recycling)},
    scene{"fifo_tidied_late", "dual queue: one takes out segments, late", tidied_late,
          reaches(step::recycling)},
    scene{"fifo_list_together", "segments: two take out different ones, and one walks",
          taken_out_together, reaches(step::recycling)},
    scene{"fifo_list_skipped", "segments: one sweeps, and the cursor moves past it",
          swept_and_skipped},
    scene{"fifo_list_late", "segments: one appends, late", appended_late, reaches(step::recycling)},
    scene{"fifo_list_twice", "segments: two append behind the same one", appended_twice},
    scene{"fifo_list_last", "segments: one appends, and one takes out all before", last_stays,
          reaches(step::recycling)},
    scene{"fifo_list_again", "segments: one takes them out, late", taken_out_again,
          reaches(step::recycling)},
    scene{"fifo_held", "dual queue, no more memory: one is held", held, reaches(step::recycling)},
    scene{"fifo_held_sweeping", "dual queue, no more memory: one is held in a sweep",
          held_while_sweeping, reaches(step::sweeping)},
    scene{"fifo_swept_two", "dual queue: two sweeps at once", swept_by_two,
          reaches(step::sweeping)},
    scene{"fifo_swept_two_met", "dual queue: the same, and two reds", swept_by_two_and_met,
          reaches(step::sweeping)},

    scene{"lifo_meet", "dual stack: red and blue", meet<stack>},
    scene{"lifo_quit", "dual stack: red withdraws", meet_or_quit<stack>, reaches(step::vacancy)},
    scene{"lifo_two_meet_one", "dual stack: two reds and a blue", two_meet_one<stack>},
    scene{"lifo_two_meet_two", "dual stack: two reds and two blues", two_meet_two<stack>},
    scene{"lifo_close", "dual stack: red, blue and a close", meet_or_close<stack>},
    scene{"lifo_quit_close", "dual stack: red withdraws twice; a close", quit_or_close<stack>,
          reaches(step::refill)},
    scene{"lifo_try", "dual stack: a red that only tries", one_tries<stack>},
    scene{"lifo_ask_close", "dual stack: one party asks whether it is closed", one_asks<stack>},
    scene{"lifo_quit_destroy", "dual stack: red withdraws, blue arrives and destroys it",
          quit_and_destroy<stack>},
    scene{"lifo_again", "dual stack: three reds in turn, three blues in turn",
          again_and_again<stack>},
    scene{"lifo_again_quit", "dual stack: two reds and two blues, who withdraw",
          again_and_again_quitting<stack>, reaches(step::refill, step::disowning)},
    scene{"lifo_refilled", "dual stack: a vacant place, red and blue", refilled,
          reaches(step::refill, step::vacancy)},
    scene{"lifo_refilled_twice", "dual stack: a vacant place, two reds and blue", refilled_twice,
          reaches(step::refill, step::vacancy)},
    scene{"lifo_refilled_closed", "dual stack: a vacant place, red and a close", refilled_or_closed,
          reaches(step::refill)},
    scene{"lifo_disowned_to", "dual stack: one blue disowns a node, the other pops it",
          disowned_to_another, reaches(step::disowning)},
    scene{"lifo_disowned", "dual stack: red withdraws, two blues", disowned,
          reaches(step::disowning)},

    scene{"fifo", "dual queue, coroutines: red and blue", red_and_blue<queue>,
          reaches(step::claim_in_wait_list)},
    scene{"fifo_canceller", "the same, and a stop", red_and_blue_and_canceller<queue>,
          reaches(step::stop, step::late_stop, step::pinned)},
    scene{"fifo_closer", "the same, and a close", red_and_blue_and_closer<queue>,
          reaches(step::claim_in_wait_list)},
    scene{"fifo_three_canceller", "dual queue, coroutines: two reds and a blue, a stop",
          two_reds_and_blue_and_canceller<queue>, reaches(step::stop)},
    scene{"fifo_destroyed", "the party that has returned destroys the dual queue; a stop",
          destroyed_by_red<queue>, reaches(step::late_stop)},
    scene{"fifo_destroyed_over_one", "the dual queue is destroyed while one party waits; a stop",
          destroyed_over_red<queue>, reaches(step::stop, step::late_stop)},
    scene{"fifo_destroyed_over_two", "the same, with two waiters", destroyed_over_two_reds<queue>,
          reaches(step::stop)},
    scene{"fifo_closer_inline", "a close resumes a red that destroys another, which has just come",
          closed_over_killer<queue>},
    scene{"lifo", "dual stack, coroutines: red and blue", red_and_blue<stack>,
          reaches(step::claim_in_wait_list)},
    scene{"lifo_canceller", "the same, and a stop", red_and_blue_and_canceller<stack>,
          reaches(step::stop, step::late_stop, step::pinned)},
    scene{"lifo_closer", "the same, and a close", red_and_blue_and_closer<stack>,
          reaches(step::claim_in_wait_list)},
    scene{"lifo_three_canceller", "dual stack, coroutines: two reds and a blue, a stop",
          two_reds_and_blue_and_canceller<stack>, reaches(step::stop)},
    scene{"lifo_destroyed", "the party that has returned destroys the dual stack; a stop",
          destroyed_by_red<stack>, reaches(step::late_stop)},
    scene{"lifo_destroyed_over_one", "the dual stack is destroyed while one party waits; a stop",
          destroyed_over_red<stack>, reaches(step::stop, step::late_stop)},
    scene{"lifo_destroyed_over_two", "the same, with two waiters", destroyed_over_two_reds<stack>,
          reaches(step::stop)},
    scene{"lifo_closer_inline",
          "a close resumes a red that destroys another, in a vacant place below",
          closed_over_killer<stack>, reaches(step::refill)},
    scene{"lifo_arena", "dual stack with an arena, coroutines: red and blue", in_arena<stack>,
          reaches(step::claim_in_arena, step::claim_in_wait_list, step::expiry)},
    scene{"lifo_arena_over_red", "the same, while a red waits in the stack",
          in_arena_over_red<stack>,
          reaches(step::claim_in_arena, step::claim_in_wait_list, step::expiry)},
    scene{"lifo_arena_over_blue", "the same, while a blue waits in the stack",
          in_arena_over_blue<stack>,
          reaches(step::claim_in_arena, step::claim_in_wait_list, step::expiry)},
    scene{"lifo_arena_look", "the same, and a blue that looks at the stack first",
          in_arena_over_red_and_look, reaches(step::claim_in_wait_list)},
    scene{"lifo_arena_canceller", "the same over a red, and a stop",
          in_arena_over_red_and_canceller<stack>, reaches(step::claim_in_arena, step::stop)},
    scene{"lifo_arena_closer", "the same over a red, and a close",
          in_arena_over_red_and_closer<stack>,
          reaches(step::claim_in_arena, step::claim_in_wait_list)},
    scene{"lifo_arena_two_reds", "dual stack with an arena: two reds and a blue",
          two_reds_in_arena<stack>, reaches(step::claim_in_arena, step::claim_in_wait_list)},
    scene{"lifo_arena_two_reds_over", "the same, while a blue waits in the stack",
          two_reds_in_arena_over_blue<stack>,
          reaches(step::claim_in_arena, step::claim_in_wait_list)},
    scene{"lifo_arena_destroyed", "the party that has returned destroys both; a stop",
          in_arena_destroyed_by_red<stack>, reaches(step::claim_in_arena)},
};

} // namespace

std::span<const scene> dual_scenes() {
    return all;
}

} // namespace model
} // namespace tryst
