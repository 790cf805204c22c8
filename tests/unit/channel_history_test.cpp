// SPDX-License-Identifier: MIT
#include "support/channel_history.hpp"
#include "support/findings.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using record = channel_history::record;
using change = channel_history::change;
using act = channel_history::act;
using fate = channel_history::fate;
using enum exchange_errc;

/// An operation made by hand, which has succeeded. All are at channel 1.
struct op : record {
    op(act mine, std::vector<long> all, stamp from, stamp to) {
        channel = 1;
        what = mine;
        fate = fate::done;
        items = std::move(all);
        moved = mine == act::sends ? items.size() : 0;
        begun = from;
        ended = to;
    }
    op fails(exchange_errc why, std::size_t sent = 0) {
        fate = fate::failed;
        error = why;
        moved = sent;
        tries = why == no_partner;
        return *this;
    }
    op is(channel_history::fate other) {
        fate = other;
        return *this;
    }
    op queued_by(stamp when) {
        queued = when;
        return *this;
    }
    op kept_since(stamp when) {
        placed_since = when;
        return *this;
    }
    op of(std::size_t most) {
        places = most;
        return *this;
    }
    op garbled() {
        is_garbled = true;
        return *this;
    }
    op waits() {
        tries = false;
        return *this;
    }
};
op sends(std::vector<long> items, stamp from, stamp to) {
    return {act::sends, std::move(items), from, to};
}
op receives(std::vector<long> items, stamp from, stamp to) {
    return {act::receives, std::move(items), from, to};
}
op takes(std::vector<long> items, stamp from, stamp to) {
    return {act::takes, std::move(items), from, to};
}

/// A history made by hand.
struct made {
    std::vector<record> operations{};
    std::vector<change> closes{};
    std::vector<change> limits{};
    std::size_t limit = 2;
    bool weighs = false; ///< Items weigh what their number says.
};

std::string verdict(const made& m) {
    channel_history h;
    h.add_channel(1, m.limit,
                  m.weighs ? +[](long item) { return static_cast<std::size_t>(item); } : nullptr);
    h.add_channel(2, 9);
    for (const record& r : m.operations) {
        h[0].add(r);
    }
    for (const change& each : m.closes) {
        h[0].add_close(each);
    }
    for (const change& each : m.limits) {
        h[0].add_limit(each);
    }
    return h.violations();
}

change at(stamp from, stamp to, std::size_t limit = 0) {
    return {.channel = 1, .begun = from, .ended = to, .limit = limit};
}

struct row {
    const char* rule; ///< Which this history breaks; none if it is possible.
    made m;
};

TEST(ChannelHistory, FindsWhatIsImpossibleAndNothingElse) {
    const auto one = [](stamp from, stamp to) { return sends({1}, from, to); };
    const auto two = [](stamp from, stamp to) { return sends({2}, from, to); };
    const auto got_one = [](stamp from, stamp to) { return receives({1}, from, to); };
    const auto got_two = [](stamp from, stamp to) { return receives({2}, from, to); };
    const auto finds = [](exchange_errc what, stamp from, stamp to) {
        return receives({}, from, to).fails(what);
    };
    const auto elsewhere = [](op made) {
        made.channel = 2;
        return made;
    };
    const row rows[] = {
        // Conservation.
        {"", {{one(1, 2), got_one(3, 4)}}},
        {"", {{one(2, 4), got_one(1, 3)}}},
        {"", {{one(1, 2), takes({1}, 3, 4)}}},
        {"", {{sends({1, 2, 3}, 1, 9).fails(timed_out, 2), receives({1, 2}, 2, 3)}}},
        {"recorded", {{one(1, 2), one(3, 4), got_one(5, 6)}}},
        {"", {{one(1, 2).fails(not_selected), one(3, 4), got_one(5, 6)}}}, // a set kept it
        {"received recorded", {{one(1, 4).fails(not_selected), one(3, 5), got_one(5, 6)}}},
        {"returned", {{one(1, 2).fails(cancelled).garbled()}}},
        {"received", {{got_one(1, 2)}}},
        {"lost received", {{one(3, 4), got_one(1, 2)}}},
        {"received", {{one(1, 3).fails(cancelled), got_one(2, 4)}}},
        {"received", {{sends({1, 2}, 1, 9).fails(timed_out, 1), receives({1, 2}, 2, 3)}}},
        {"lost received", {{one(1, 2), elsewhere(got_one(3, 4))}}},
        {"once", {{one(1, 2), got_one(3, 4), takes({1}, 5, 6)}}},
        {"lost", {{one(1, 2)}}},
        {"lost", {{sends({1, 2}, 1, 9).fails(timed_out, 1)}}},
        {"", {{one(1, 2).is(fate::abandoned)}}},
        {"", {{one(1, 2).is(fate::abandoned), got_one(3, 4)}}},
        {"", {{one(1, 2), receives({}, 1, 3).is(fate::abandoned)}}},
        {"lost", {{sends({1, 2}, 1, 2), receives({}, 1, 3).is(fate::abandoned)}}},
        {"", {{sends({1, 2}, 1, 2), receives({}, 1, 3).is(fate::abandoned).of(2)}}},
        // First in, first out.
        {"", {{one(1, 2), two(3, 4), got_one(5, 6), got_two(7, 8)}}},
        {"", {{one(1, 4), two(2, 3), got_two(5, 6), got_one(7, 8)}}},
        {"", {{one(1, 2), two(3, 4), got_two(5, 7), got_one(6, 8)}}},
        {"fifo", {{one(1, 2), two(3, 4), got_two(5, 6), got_one(7, 8)}}},
        {"fifo", {{one(1, 9).queued_by(2), two(3, 10), got_two(4, 5), got_one(6, 8)}}},
        {"fifo", {{got_one(1, 9).queued_by(2), got_two(3, 8), two(4, 5), one(6, 7)}}},
        {"", {{got_one(1, 9).queued_by(2), got_two(3, 8).kept_since(1), two(4, 5), one(6, 7)}}},
        {"fifo", {{one(1, 2), two(3, 4), got_two(5, 6), takes({1}, 7, 8)}}},
        {"", {{sends({1, 2}, 1, 2), got_one(3, 6), got_two(4, 5)}}},
        {"fifo", {{sends({1, 2}, 1, 2), got_two(3, 4), got_one(5, 6)}}},
        {"", {{one(1, 3), two(2, 4), receives({2, 1}, 5, 6)}}},
        {"fifo", {{one(1, 2), two(3, 4), receives({2, 1}, 5, 6)}}},
        {"fifo", {{sends({1, 2}, 1, 2), receives({2, 1}, 3, 4)}}},
        {"fifo",
         {{sends({1, 3, 2}, 1, 2), receives({2}, 3, 4), receives({1, 3}, 5, 6)}, {}, {}, 3}},
        // The limit.
        {"", {{one(1, 2), two(3, 4), takes({1, 2}, 5, 6)}}},
        {"limit", {{sends({1, 2}, 1, 2), sends({3}, 3, 4), takes({1, 2, 3}, 5, 6)}}},
        {"", {{sends({1, 2}, 1, 2), sends({3}, 3, 5), takes({1, 2, 3}, 4, 6)}}},
        {"limit", {{one(1, 2), got_one(3, 4)}, {}, {}, 0}},
        {"", {{one(1, 3), got_one(2, 4)}, {}, {}, 0}},
        {"", {{sends({1, 2}, 1, 2), sends({3}, 3, 6), takes({1, 2, 3}, 7, 8)}, {}, {at(4, 5, 3)}}},
        {"limit",
         {{sends({1, 2}, 1, 2), sends({3}, 5, 6), takes({1, 2, 3}, 7, 8)}, {}, {at(3, 4, 1)}, 3}},
        {"",
         {{sends({1, 2}, 1, 2), sends({3}, 5, 6), takes({1, 2, 3}, 7, 8)}, {}, {at(3, 9, 1)}, 3}},
        {"", {{sends({1, 2, 3}, 1, 2), takes({1, 2, 3}, 5, 6)}, {}, {at(3, 4, 1)}, 3}},
        {"",
         {.operations = {sends({9}, 1, 2), receives({9}, 3, 4), sends({2, 3}, 5, 6),
                         takes({2, 3}, 7, 8)},
          .limit = 5,
          .weighs = true}},
        {"limit",
         {.operations = {sends({3}, 1, 2), sends({4}, 3, 4), takes({3, 4}, 7, 8)},
          .limit = 6,
          .weighs = true}},
        // Empty or full.
        {"", {{finds(no_partner, 1, 2)}}},
        {"", {{one(2, 3), finds(no_partner, 1, 4), got_one(5, 6)}}},
        {"overlooked", {{one(1, 2), finds(no_partner, 3, 4), got_one(5, 6)}}},
        {"overlooked", {{one(1, 9).queued_by(2), finds(no_partner, 3, 4), got_one(5, 6)}}},
        {"overlooked",
         {{one(1, 2), finds(no_partner, 3, 8), two(4, 5), got_one(6, 7), got_two(9, 10)}}},
        {"", {{one(1, 2), finds(no_partner, 3, 8), two(4, 6), got_one(5, 7), got_two(9, 10)}}},
        {"overlooked", {{one(1, 2), finds(closed, 5, 6), got_one(7, 8)}, {at(3, 4)}}},
        {"", {{one(1, 2), finds(closed, 5, 7), got_one(6, 8)}, {at(3, 4)}}},
        {"", {{one(1, 2), two(3, 4), sends({3}, 5, 6).fails(no_partner), takes({1, 2}, 7, 8)}}},
        {"overlooked", {{one(1, 2), two(3, 4).fails(no_partner), got_one(5, 6)}}},
        {"", {{one(1, 5), two(3, 4).fails(no_partner), got_one(6, 7)}}},
        {"", {{one(1, 2), two(4, 5).fails(no_partner), got_one(7, 8)}, {}, {at(3, 6, 1)}}},
        {"overlooked",
         {{got_one(1, 9).queued_by(2), two(3, 4).fails(no_partner), one(5, 6)}, {}, {}, 0}},
        {"", {{got_one(1, 9), two(3, 4).fails(no_partner), one(5, 6)}, {}, {}, 0}},
        {"",
         {{one(1, 2), receives({}, 1, 3).is(fate::abandoned), two(4, 5).fails(no_partner)},
          {},
          {},
          1}},
        // The end.
        {"", {{one(1, 4), got_one(5, 6), finds(closed, 7, 8)}, {at(2, 3)}}},
        {"closed", {{finds(closed, 1, 2)}, {at(3, 4)}}},
        {"closed", {{one(3, 4), got_one(5, 6)}, {at(1, 2)}}},
        {"closed", {{finds(no_partner, 3, 4)}, {at(1, 2)}}},
        {"closed", {{sends({1, 2}, 3, 9).fails(closed, 1), got_one(5, 6)}, {at(1, 2)}}},
        {"closed", {{one(3, 6), got_one(4, 5), takes({}, 1, 2)}}},
        {"", {{takes({}, 1, 2), sends({}, 3, 4), receives({}, 5, 6)}}},
        // The reasons.
        {"error", {{finds(no_partner, 1, 2).waits()}}},
        {"error", {{finds(out_of_memory, 1, 2)}}},
        {"", {{one(1, 2).fails(out_of_memory)}}},
    };
    for (const row& each : rows) {
        const std::string said = verdict(each.m);
        EXPECT_EQ(rules_in(said), each.rule) << "row " << &each - rows << ": " << said;
    }
}

// ---- A channel that keeps its promises, or breaks one.

enum class defect {
    none,
    lifo,
    limit,
    order_of_senders,
    order_of_receivers,
    lost,
    repeated,
    empty,
    full,
    open
};

/// A channel on one thread, whose operations last for a random time around the instant at which
/// they take effect.
class model {
public:
    model(unsigned seed, defect how)
        : random_(seed), defect_(how), limit_(below(3)), breadth_(below(2) == 0 ? 130 : 20) {
        told_.add_channel(1, limit_);
    }

    std::string run(int steps = 60) {
        for (int i = 0; i != steps; ++i) {
            now_ += 100;
            const unsigned what = below(9);
            if (what < 4) {
                send(what == 0);
            } else if (what < 8) {
                receive(what == 4);
            } else if (below(2) == 0) {
                const change made{1, before(), after(), limit_ = below(4)};
                told_[0].add_limit(made);
                admit();
            } else if (i > steps * 2 / 3 && below(4) == 0) {
                told_[0].add_close({1, before(), after()});
                closed_ = defect_ != defect::open;
                end(senders_);
                end(receivers_);
            }
        }
        now_ += 1'000;
        end(senders_);
        end(receivers_);
        told_[0].add(takes({items_.begin(), items_.end()}, now_, now_ + 1));
        return told_.violations();
    }

private:
    using waiting = std::deque<op>;

    unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
    bool breaks(defect what) { return defect_ == what && below(4) == 0; }
    stamp before() { return now_ - 1 - 2 * below(breadth_); }
    stamp after() { return now_ + 2 + 2 * below(breadth_); }
    bool has_room() { return items_.size() < limit_ || (limit_ != 0 && breaks(defect::limit)); }

    void tell(op done, std::vector<long> items = {}) {
        done.ended = after();
        if (done.what == act::receives) {
            done.items = std::move(items);
        }
        told_[0].add(done);
    }
    void fail(op failed, exchange_errc why) { tell(failed.fails(why)); }
    void end(waiting& all) {
        for (; !all.empty(); all.pop_front()) {
            fail(all.front(), closed_ ? closed : timed_out);
        }
    }
    op take_first(waiting& from, defect disorder) {
        const auto chosen = breaks(disorder) ? std::prev(from.end()) : from.begin();
        op first = *chosen;
        from.erase(chosen);
        return first;
    }
    void put(op from) {
        items_.push_back(from.items[0]);
        tell(from);
    }
    void admit() {
        while (!senders_.empty() && has_room()) {
            put(take_first(senders_, defect::order_of_senders));
        }
    }

    void send(bool tries) {
        op mine = sends({++last_}, before(), 0);
        mine.tries = tries;
        if (closed_) {
            fail(mine, closed);
        } else if (!receivers_.empty()) {
            tell(take_first(receivers_, defect::order_of_receivers), {last_});
            tell(mine);
        } else if (senders_.empty() && has_room() && !(tries && breaks(defect::full))) {
            put(mine);
        } else if (tries) {
            fail(mine, no_partner);
        } else {
            senders_.push_back(mine.queued_by(now_ + 1));
        }
    }

    void receive(bool tries) {
        op mine = receives({}, before(), 0);
        mine.tries = tries;
        if (tries && breaks(defect::empty)) {
            fail(mine, no_partner);
        } else if (!items_.empty()) {
            const auto first = breaks(defect::lifo) ? std::prev(items_.end()) : items_.begin();
            const long got = *first;
            if (!breaks(defect::repeated)) {
                items_.erase(first);
            }
            breaks(defect::lost) ? fail(mine, timed_out) : tell(mine, {got});
            admit();
        } else if (!senders_.empty()) {
            const op from = take_first(senders_, defect::order_of_senders);
            tell(mine, from.items);
            tell(from);
        } else if (closed_ || tries) {
            fail(mine, closed_ ? closed : no_partner);
        } else {
            receivers_.push_back(mine.queued_by(now_ + 1));
        }
    }

    std::minstd_rand random_;
    defect defect_;
    channel_history told_;
    stamp now_ = 1'000;
    long last_ = 0;
    std::size_t limit_;
    unsigned breadth_; ///< How much operations overlap.
    bool closed_ = false;
    std::deque<long> items_;
    waiting senders_;
    waiting receivers_;
};

TEST(ChannelHistory, AcceptsEachChannelThatKeepsItsPromises) {
    for (unsigned seed = 1; seed != 5'000; ++seed) {
        ASSERT_EQ(model(seed, defect::none).run(), "") << "seed " << seed;
    }
    EXPECT_EQ(model(1, defect::none).run(500'000), ""); // in a second
}

TEST(ChannelHistory, FindsEachDefect) {
    const std::pair<defect, const char*> rows[] = {
        {defect::lifo, "fifo"},
        {defect::limit, "limit"},
        {defect::order_of_senders, "fifo"},
        {defect::order_of_receivers, "fifo"},
        {defect::lost, "lost"},
        {defect::repeated, "once"},
        {defect::empty, "overlooked"},
        {defect::full, "overlooked"},
        {defect::open, "closed"},
    };
    for (const auto& [how, rule] : rows) {
        int found = 0;
        for (unsigned seed = 1; seed != 100; ++seed) {
            found += rules_in(model(seed, how).run()).find(rule) != std::string::npos ? 1 : 0;
        }
        EXPECT_GT(found, 5) << rule << " of " << static_cast<int>(how);
    }
}

} // namespace
} // namespace tryst::test
