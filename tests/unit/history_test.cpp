// SPDX-License-Identifier: MIT
#include "support/findings.hpp"
#include "support/history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using record = history::record;
using ending = history::ending;
using fate = history::fate;
using way = history::way;
using colour = history::colour;
using time_point = history::time_point;
using enum exchange_errc;

constexpr time_point start_of_time(1h);

/// An operation made by hand.
struct op : record {
    op(long own, stamp from, stamp to) {
        given = own;
        invoked = from;
        returned = to;
    }
    op gets(long item) { return ends(fate::exchanged, {}, item); }
    op fails(exchange_errc why) { return ends(fate::failed, why, given); }
    op is(history::colour mine) {
        return change([&] { colour = mine; });
    }
    op at(history::channel_id there) {
        return change([&] { channel = there; });
    }
    op in(history::selection_id which) {
        return change([&] { selection = which; });
    }
    op waits_until(time_point end) {
        return change([&] { deadline = end; });
    }
    op queued_by(stamp when) {
        return change([&] { queued = when; });
    }
    op of_set(stamp since) {
        return change([&] { place_since = since; });
    }
    op is_event_of(history::stop_id which) {
        return change([&] {
            way = history::way::comes;
            stop = which;
        });
    }
    op goes(history::way how) {
        return change([&] { way = how; });
    }
    op came() {
        return change([&] {
            fate = history::fate::exchanged;
            unseen = true;
        });
    }
    op seen_at(time_point now) {
        return change([&] { clock = now; });
    }
    op parked_at(stamp when) {
        return change([&] { parked_from = parked_until = when; });
    }

    op ends(history::fate how, exchange_errc why, long item) {
        return change([&] {
            fate = how;
            error = why;
            got = item;
        });
    }
    template <class Change>
    op change(Change make) {
        make();
        return *this;
    }
};

/// A history made by hand.
struct made {
    std::vector<record> operations{};
    std::vector<ending> closes{};
    std::vector<ending> stops{};
    bool at_rest = false;
    std::optional<time_point> clock{};
    bool fifo = false; ///< Channel 0 is.
};

std::string verdict(const made& m) {
    history h;
    if (m.fifo) {
        h.set_fifo(0);
    }
    for (const record& r : m.operations) {
        h[0].add(r);
    }
    for (const ending& e : m.closes) {
        h[0].add_close(e);
    }
    for (const ending& e : m.stops) {
        h[0].add_stop(e);
    }
    return m.at_rest ? h.violations_at_rest(m.clock) : h.violations();
}

/// The rules that a history breaks; none if it is possible.
struct row {
    std::string rules;
    made m;
};

void expect_rules(std::initializer_list<row> rows) {
    for (const row& each : rows) {
        const std::string said = verdict(each.m);
        EXPECT_EQ(rules_in(said), each.rules) << "row " << &each - rows.begin() << ": " << said;
    }
}

// ---- What the search below does not tell: which rule it is, and what is said of it.

TEST(HistoryRules, AreNamedByTheSmallestHistoriesThatBreakThem) {
    const auto a = [](stamp from = 1) { return op(7, from, from + 2); };
    const auto b = [](stamp from = 2) { return op(8, from, from + 2); };
    const auto waits = [](long own) { return op(own, 1, never); };
    expect_rules({
        {"recorded", {{a(), a()}}},
        {"R1 mutual", {{a().gets(8)}}},
        {"R2 once", {{a().gets(9), b().gets(9), waits(9)}}},
        {"R3 overlap", {{a(1).gets(8), b(4).gets(7)}}},
        {"R4 colours", {{a().gets(8).is(colour::red), b().gets(7).is(colour::red)}}},
        {"R5 returned", {{a().fails(timed_out).waits_until({}), b().gets(7)}}},
        {"deadline", {{a().fails(timed_out)}}},
        {"stop", {{a().fails(cancelled)}}},
        {"close", {{a().fails(closed)}}},
        {"no_partner", {{a().fails(no_partner)}}},
        {"out_of_memory", {{a().fails(out_of_memory)}}},
        {"error", {{a().fails(in_doubt)}}},
        {"not_selected", {{a().fails(not_selected)}}},
        {"selection",
         {{a().gets(9).in(1), b(1).gets(10).in(1).at(1), op(9, 2, 4).gets(7),
           op(10, 2, 4).gets(8).at(1)}}},
        {"parked", {{waits(7).parked_at(3), waits(8).parked_at(3)}}},
        {"fifo",
         {.operations = {op(1, 1, 9).gets(11).is(colour::red).queued_by(2),
                         op(2, 3, 6).gets(12).is(colour::red),
                         op(11, 7, 8).gets(1).is(colour::blue),
                         op(12, 4, 5).gets(2).is(colour::blue)},
          .fifo = true}},
        {"at rest", {.operations = {waits(7), waits(8)}, .at_rest = true}},
    });
}

TEST(HistoryRules, LetASetKeepItsItemAndItsPlace) {
    const auto round = [](stamp from) { return op(7, from, from + 2); };
    const auto kept = [&](stamp from) { return round(from).fails(timed_out).waits_until({}); };
    const auto tries = [](op what) { return what.change([&] { what.way = way::tries; }); };
    const auto queue = [](const op& of_set) {
        const auto red = [](op what) { return what.is(colour::red); };
        const auto blue = [](op what) { return what.is(colour::blue); };
        return made{.operations = {red(of_set), red(op(2, 3, 14).gets(12).queued_by(4)),
                                   blue(op(11, 7, 8).gets(1)), blue(op(12, 11, 13).gets(2))},
                    .fifo = true};
    };
    expect_rules({
        {"", {{kept(1), round(4).gets(8), op(8, 3, 9).gets(7)}}},
        {"R5 returned", {{kept(1), kept(4), op(8, 1, 9).gets(7)}}},
        {"recorded", {{kept(1), round(2).gets(8), op(8, 1, 9).gets(7)}}},
        {"R3 overlap", {{kept(1), round(5).gets(8), op(8, 1, 4).gets(7)}}}, // between two rounds
        // It may have had its place in a queue before the round began.
        {"fifo", queue(op(1, 6, 9).gets(11))},
        {"", queue(op(1, 6, 9).gets(11).of_set(1))},
        // It offers its cases even if it does not wait.
        {"R3 overlap", {{tries(round(1).gets(8)), tries(op(8, 2, 4).gets(7))}}},
        {"", {{tries(round(1).gets(8).of_set(1)), tries(op(8, 2, 4).gets(7))}}},
        // A partner that is late may have claimed its case before a close.
        {"close", {{round(5).gets(8), op(8, 1, 9).gets(7)}, {{0, 2, 4}}}},
        {"", {{round(5).gets(8).of_set(1), op(8, 1, 9).gets(7)}, {{0, 2, 4}}}},
        {"close", {{round(6).gets(8).of_set(5), op(8, 1, 9).gets(7)}, {{0, 2, 4}}}},
    });
}

TEST(HistoryRules, LetAnEventTakePlaceAtItsTime) {
    const auto event = [](stamp from, stamp to, history::stop_id stop = 3) {
        return op(9, from, to).in(1).is_event_of(stop);
    };
    const auto came = [&] { return event(2, 5).came(); };
    const auto came_at = [&](time_point now) {
        return event(2, 5, 0).came().waits_until(start_of_time).seen_at(now);
    };
    const auto left = [] { return op(7, 1, 6).in(1).fails(not_selected); };
    const auto won = [] { return op(7, 1, 6).in(1).gets(8); };
    const auto expired = [] { return op(7, 4, 6).in(1).fails(timed_out).waits_until({}); };
    const auto late = [&] { return expired().goes(way::late); };
    const auto idle = [] { return op(7, 1, never).in(1); };
    const auto rival = [] { return op(8, 1, 9).gets(7); };
    const ending stop{3, 1, 2};
    expect_rules({
        {"", {.operations = {left(), came()}, .stops = {stop}}},
        {"event", {.operations = {left(), came()}, .stops = {{3, 6, 7}}}},
        {"", {{left(), came_at(start_of_time)}}},
        {"event", {{left(), came_at(start_of_time - 1ns)}}},
        {"event", {.operations = {came().in(0)}, .stops = {stop}}},
        // It is one of the cases.
        {"selection", {.operations = {won(), rival(), came()}, .stops = {stop}}},
        {"not_selected", {{left(), event(2, 5).fails(not_selected)}}},
        {"", {{won(), rival(), event(2, 5).fails(not_selected)}}},
        // A partner may come before it, but not the end of a wait.
        {"",
         {.operations = {op(7, 3, 6).in(1).gets(8), rival(), event(4, 5).fails(not_selected)},
          .stops = {stop}}},
        {"event", {.operations = {expired(), event(4, 5).fails(timed_out)}, .stops = {stop}}},
        {"", {.operations = {expired(), event(4, 5).fails(timed_out)}, .stops = {{3, 1, 8}}}},
        {"", {.operations = {late(), event(4, 5).fails(timed_out)}, .stops = {stop}}},
        // It has no item and no partner.
        {"R5 returned", {{won(), rival(), event(2, 5).ends(fate::failed, not_selected, 4)}}},
        {"R1 mutual", {.operations = {left(), came(), op(8, 1, 9).gets(9)}, .stops = {stop}}},
        {"", {.operations = {idle(), event(2, never)}, .at_rest = true}},
        {"at rest", {.operations = {idle(), event(2, never)}, .stops = {stop}, .at_rest = true}},
        {"at rest",
         {.operations = {idle(), event(2, never, 0).waits_until(start_of_time)},
          .at_rest = true,
          .clock = start_of_time}},
    });
}

TEST(HistoryRules, LetALatePartyTimeOutAlthoughAPartnerWaits) {
    op waits = op(7, 1, never).parked_at(2);
    waits.parked_until = 6;
    const auto expired = [](way how) {
        return op(8, 3, 5).fails(timed_out).waits_until({}).goes(how);
    };
    expect_rules(
        {{"", {{waits, expired(way::late)}}}, {"parked", {{waits, expired(way::overdue)}}}});
}

TEST(History, SaysAllItKnowsOfAnOperation) {
    op first = op(1, 1, 4).gets(2).is(colour::red).in(1).parked_at(2).queued_by(2);
    op second = op(2, 2, 4).fails(timed_out).is(colour::blue).at(1).waits_until({});
    first.parked_until = 3;
    second.way = way::overdue;
    EXPECT_EQ(verdict({{first, second}}),
              "R1 mutual: the one that gave 1 (red, channel 0, 1 to 4, selection 1, parked 2 to 3, "
              "queued by 2, received 2) received a value from another channel, of the one that "
              "gave 2 (blue, channel 1, 2 to 4, overdue, the deadline passed, 2 "
              "returned)\n"
              "R5 returned: the one that gave 1 (red, channel 0, 1 to 4, selection 1, parked 2 to "
              "3, queued by 2, received 2) received the value of one that failed, the one that "
              "gave 2 (blue, channel 1, 2 to 4, overdue, the deadline passed, 2 "
              "returned)\n");
}

TEST(History, ReportsAFewOfVeryManyViolations) {
    made m;
    for (long i = 0; i != 100; ++i) {
        m.operations.push_back(op(i, 1, 2).gets(-1));
    }
    const std::string said = verdict(m);
    EXPECT_EQ(std::ranges::count(said, '\n'), 21);
    EXPECT_NE(said.find("\nand 80 more\n"), std::string::npos);
}

TEST(History, ChecksMillionsInSeconds) {
    // Quadratic in anything, this would take hours.
    constexpr long pairs = 200'000;
    history h;
    h[0].add_close({0, 10 * pairs + 9, 10 * pairs + 10});
    for (long i = 0; i != pairs; ++i) {
        const auto start = static_cast<stamp>(10 * i);
        op tries = op(-i - 1, start + 1, start + 9).fails(no_partner);
        tries.way = way::tries;
        h[0].add(op(2 * i, start, start + 8).gets(2 * i + 1).parked_at(start + 2));
        h[0].add(op(2 * i + 1, start + 6, start + 9).gets(2 * i));
        h[0].add(tries);
    }
    EXPECT_EQ(h.violations_at_rest(), "");
    EXPECT_EQ(h.exchanged(), 2 * pairs);
    EXPECT_EQ(h.failed(no_partner), pairs);
}

// ---- Recorded, not made by hand.

class HistoryRecord : public testing::Test {
protected:
    history::operation begin(long own, std::size_t log = 0) {
        return h_[log].begin({.given = own});
    }
    std::string broken() const { return rules_in(h_.violations()); }

    history h_{2};
};

TEST_F(HistoryRecord, OrdersLogsByTime) {
    begin(1, 0).exchanged(2);
    begin(2, 1).exchanged(1);
    EXPECT_EQ(broken(), "R3 overlap");
    h_.clear();
    EXPECT_EQ(h_.violations(), "");
}

TEST_F(HistoryRecord, SaysWhatTheClockShowedAtATimeout) {
    for (const auto early : {0ns, 1ns}) {
        h_[0]
            .begin({.given = early.count(), .deadline = start_of_time})
            .failed(timed_out, early.count(), start_of_time - early);
        EXPECT_EQ(h_.violations().empty(), early == 0ns);
    }
}

TEST_F(HistoryRecord, EndsAnAbandonedOperationWithItsFrame) {
    {
        const auto abandoned = begin(1);
    }
    auto partner = begin(2);
    EXPECT_EQ(h_.violations_at_rest(), "") << "the first waits no more";
    partner.exchanged(1);
    EXPECT_EQ(broken(), "R3 overlap");
}

TEST_F(HistoryRecord, KnowsWhoIsParkedTogether) {
    auto one = begin(1);
    auto two = begin(2);
    one.parked(h_.tick());
    two.parked(h_.tick());
    EXPECT_EQ(h_.violations(), "");
    one.parked(h_.tick());
    EXPECT_EQ(broken(), "parked");
}

TEST_F(HistoryRecord, KnowsWhenAChannelWasClosedAndAStopRequested) {
    auto stopped = h_[1].begin({.given = 1, .stop = 5});
    h_[0].stop(5, [&] { stopped.failed(cancelled, 1); });
    auto refused = begin(2, 1);
    h_[0].close(0, [&] { refused.failed(closed, 2); });
    EXPECT_EQ(h_.violations_at_rest(), "");
    const auto waits = begin(3);
    EXPECT_EQ(rules_in(h_.violations_at_rest()), "at rest") << "at a channel that is closed";
}

// ---- Against a search for the instants at which everything took effect.

bool colours_fit(const record& a, const record& b) {
    return a.colour == colour::any ? b.colour == colour::any
                                   : b.colour != colour::any && a.colour != b.colour;
}

/// Whether the selection of `r` is decided for it, according to its result.
bool wins(const record& r) {
    return r.fate == fate::exchanged ||
           (r.fate == fate::failed && (r.error == closed || r.error == out_of_memory));
}

/// Decides whether a small history is possible, from the meaning of the operations alone: steps
/// through the stamps, and tries between any two whatever may happen there. It knows no rule.
class search {
public:
    explicit search(const made& m) : m_(m) {
        for (std::size_t i = 0; i != m.operations.size(); ++i) {
            const record& r = m.operations[i];
            add(r.invoked, what::invoked, i);
            add(r.returned, what::returned, i);
            add(r.parked_from, what::seen_parked, i);
            add(r.parked_from == never ? never : r.parked_until, what::last_seen_parked, i);
            add(r.queued, what::queued, i);
        }
        for (const ending& e : m.closes) {
            add(e.invoked, what::close_invoked, e.what);
            add(e.returned, what::close_returned, e.what);
        }
        for (const ending& e : m.stops) {
            add(e.invoked, what::stop_invoked, e.what);
            add(e.returned, what::stop_returned, e.what);
        }
        std::ranges::sort(events_);
    }

    bool succeeds() { return results_fit() && goes_on(state()); }

private:
    static constexpr std::size_t most = 8;

    enum class what : std::uint8_t {
        invoked,
        close_invoked,
        stop_invoked,
        queued,
        seen_parked, // before `last_seen_parked`, which may have the same stamp
        last_seen_parked,
        returned,
        close_returned,
        stop_returned,
    };
    using event = std::tuple<stamp, what, std::size_t>;

    enum class phase : std::uint8_t {
        absent,
        called,
        too_late, // its stop had been requested when it started
        started,
        looked, // and saw nobody
        queued,
        parked,
        was_parked,
        left, // its queue, and will fail
        met,
        failed,
        gone,
    };

    /// Of a close or a stop.
    enum class request : std::uint8_t { none, made, done };

    struct state {
        std::size_t next = 0;
        std::array<phase, most> of{};
        std::array<request, 4> close{};
        std::array<request, 4> stop{};

        // Who is in a queue, in the order of arrival; and whom of them each has found there when it
        // began.
        std::array<std::uint8_t, most> queue{};
        std::size_t length = 0;
        std::array<std::uint8_t, most> found{};

        auto operator<=>(const state&) const = default;

        void enter(std::size_t i) { queue.at(length++) = static_cast<std::uint8_t>(i); }
        void leave(std::size_t i) {
            const auto end = std::remove(queue.begin(), queue.begin() + length, i);
            length = static_cast<std::size_t>(end - queue.begin());
            std::fill(end, queue.end(), std::uint8_t{0});
            for (std::uint8_t& each : found) {
                each = static_cast<std::uint8_t>(each & ~(1U << i));
            }
        }
    };

    void add(stamp when, what kind, std::size_t which) {
        if (when != never) {
            events_.emplace_back(when, kind, which);
        }
    }

    // ---- What holds of operation `i`.

    bool are_of_one_selection(std::size_t i, std::size_t j) const {
        return i != j && m_.operations[i].selection != 0 &&
               m_.operations[i].selection == m_.operations[j].selection;
    }

    /// Whether `f(j)` for any operation `j`.
    template <class F>
    bool any(F f) const {
        for (std::size_t j = 0; j != m_.operations.size(); ++j) {
            if (f(j)) {
                return true;
            }
        }
        return false;
    }
    /// Whether `f(j)` for any other case `j` of the selection of `i`.
    template <class F>
    bool any_other_case(std::size_t i, F f) const {
        return any([&](std::size_t j) { return are_of_one_selection(i, j) && f(j); });
    }

    /// Whether the results of each selection can be those of one call.
    bool results_fit() const {
        return !any([&](std::size_t i) {
            const record& r = m_.operations[i];
            return any_other_case(i, [&](std::size_t j) {
                const record& other = m_.operations[j];
                if (wins(r)) {
                    return other.fate != fate::failed || other.error != not_selected;
                }
                return !wins(other) &&
                       (r.fate != other.fate || (r.fate == fate::failed && r.error != other.error));
            });
        });
    }

    bool is_closed(const state& s, std::size_t i) const {
        return s.close.at(m_.operations[i].channel) == request::done;
    }
    bool is_stopped(const state& s, std::size_t i) const {
        const record& r = m_.operations[i];
        return r.stop != 0 && s.stop.at(r.stop) == request::done;
    }

    /// Whether another case of the selection of `i` has taken place.
    bool has_lost(const state& s, std::size_t i) const {
        return any_other_case(i, [&](std::size_t j) {
            return s.of[j] == phase::met || (s.of[j] == phase::failed && wins(m_.operations[j]));
        });
    }
    bool is_undecided(const state& s, std::size_t i) const {
        return !has_lost(s, i) &&
               !any_other_case(i, [&](std::size_t j) { return s.of[j] == phase::gone; });
    }

    static bool is_present(phase p) {
        return p == phase::started || p == phase::looked || p == phase::was_parked;
    }
    static bool arrives(phase p) { return p == phase::started || p == phase::looked; }
    static bool is_queued(phase p) { return p == phase::queued || p == phase::was_parked; }

    static bool gives_up(const record& r) {
        return r.fate == fate::failed &&
               (r.error == timed_out || r.error == no_partner || r.error == out_of_memory);
    }

    bool has_queue(std::size_t i) const { return m_.fifo && m_.operations[i].channel == 0; }

    /// The first in the queue of those whom `i` may meet; `most` if there is none.
    std::size_t next_in_queue(const state& s, std::size_t i) const {
        const auto end = s.queue.begin() + s.length;
        const auto first = std::find_if(s.queue.begin(), end, [&](std::size_t each) {
            return colours_fit(m_.operations[i], m_.operations[each]);
        });
        return first == end ? most : *first;
    }

    bool partner_is_parked(const state& s, std::size_t i) const {
        return any([&](std::size_t j) {
            return j != i && s.of[j] == phase::parked &&
                   m_.operations[j].channel == m_.operations[i].channel &&
                   colours_fit(m_.operations[i], m_.operations[j]);
        });
    }

    // ---- What may happen to it.

    bool may_look_in_vain(const state& s, std::size_t i) const {
        return s.of[i] == phase::started && gives_up(m_.operations[i]) && !is_closed(s, i) &&
               !(has_queue(i) ? s.found[i] != 0 : partner_is_parked(s, i));
    }

    bool may_enter(const state& s, std::size_t i) const {
        return has_queue(i) && arrives(s.of[i]) && m_.operations[i].way == way::waits &&
               !is_closed(s, i) && next_in_queue(s, i) == most;
    }

    /// Whether it may give up its place in a queue some time before it returns.
    bool may_leave(const state& s, std::size_t i) const {
        const record& r = m_.operations[i];
        const bool gives_up_place = r.fate == fate::abandoned ||
                                    (r.fate == fate::pending && !m_.at_rest) ||
                                    (r.fate == fate::failed && r.error != closed);
        return has_queue(i) && is_queued(s.of[i]) && gives_up_place && !is_closed(s, i);
    }

    bool may_exchange(const state& s, std::size_t i, std::size_t j) const {
        const record& a = m_.operations[i];
        const record& b = m_.operations[j];
        const auto wants = [](const record& x, const record& y) {
            return x.fate == fate::exchanged ? x.got == y.given : x.fate != fate::failed;
        };
        const auto finds = [&](std::size_t x, std::size_t y) {
            return arrives(s.of[x]) && next_in_queue(s, x) == y && is_queued(s.of[y]);
        };
        const bool both_are_there =
            has_queue(i) ? finds(i, j) || finds(j, i) : is_present(s.of[i]) && is_present(s.of[j]);
        return both_are_there && is_undecided(s, i) && is_undecided(s, j) &&
               !are_of_one_selection(i, j) && a.channel == b.channel && !is_closed(s, i) &&
               colours_fit(a, b) && (a.way == way::waits || b.way == way::waits) && wants(a, b) &&
               wants(b, a);
    }

    bool may_fail(const state& s, std::size_t i) const {
        const record& r = m_.operations[i];
        if (r.fate != fate::failed || r.got != r.given) {
            return false;
        }
        const phase p = s.of[i];
        const bool saw_nobody =
            p == phase::left || ((p == phase::looked || is_queued(p)) && !is_closed(s, i));
        const bool is_there = is_present(p) || p == phase::queued || p == phase::left;
        switch (r.error) {
        case timed_out:
            return saw_nobody && r.way != way::tries && r.deadline && r.clock >= *r.deadline;
        case no_partner:
            return saw_nobody && r.way == way::tries;
        case out_of_memory:
            return saw_nobody && r.way != way::tries && r.colour != colour::any;
        case cancelled:
            return (is_there || p == phase::too_late) && is_stopped(s, i);
        case closed:
            return is_there && is_closed(s, i);
        case not_selected:
            return is_there && has_lost(s, i);
        case unavailable:
        case in_doubt:
            return false;
        }
        return false;
    }

    // ---- The search.

    bool goes_on(const state& s) {
        return seen_.insert(s).second && (next_event(s) || something_happens(s));
    }

    /// Whether `change` may come next, and a possible history follows.
    template <class Change>
    bool then(bool may, const state& s, Change change) {
        if (!may) {
            return false;
        }
        state t = s;
        change(t);
        return goes_on(t);
    }

    bool something_happens(const state& s) {
        for (std::size_t c = 0; c != s.close.size(); ++c) {
            if (then(s.close.at(c) == request::made, s,
                     [=](state& t) { t.close.at(c) = request::done; }) ||
                then(s.stop.at(c) == request::made, s,
                     [=](state& t) { t.stop.at(c) = request::done; })) {
                return true;
            }
        }
        return any([&](std::size_t i) { return something_happens_to(i, s); });
    }

    bool something_happens_to(std::size_t i, const state& s) {
        const auto goes = [i](phase to) { return [=](state& t) { t.of[i] = to; }; };
        return then(s.of[i] == phase::called, s,
                    goes(is_stopped(s, i) ? phase::too_late : phase::started)) ||
               then(may_look_in_vain(s, i), s, goes(phase::looked)) ||
               then(may_enter(s, i), s,
                    [i](state& t) {
                        t.of[i] = phase::queued;
                        t.enter(i);
                    }) ||
               then(may_leave(s, i), s,
                    [i](state& t) {
                        t.of[i] = phase::left;
                        t.leave(i);
                    }) ||
               then(may_fail(s, i), s,
                    [i](state& t) {
                        t.of[i] = phase::failed;
                        t.leave(i);
                    }) ||
               any([&](std::size_t j) {
                   return then(j < i && may_exchange(s, i, j), s, [=](state& t) {
                       t.of[i] = t.of[j] = phase::met;
                       t.leave(i);
                       t.leave(j);
                   });
               });
    }

    bool next_event(const state& s) {
        if (s.next == events_.size()) {
            return !m_.at_rest || may_rest(s);
        }
        const auto& seen = events_[s.next];
        const std::size_t i = std::get<2>(seen);
        return then(may_be_seen(s, std::get<1>(seen), i), s, [&](state& t) {
            ++t.next;
            see(t, std::get<1>(seen), i);
        });
    }

    bool may_be_seen(const state& s, what kind, std::size_t i) const {
        switch (kind) {
        case what::queued:
            return !has_queue(i) || s.of[i] >= phase::queued;
        case what::seen_parked:
            return !is_closed(s, i) &&
                   (has_queue(i) ? s.of[i] == phase::queued
                                 : arrives(s.of[i]) && !partner_is_parked(s, i));
        case what::last_seen_parked:
            return !is_closed(s, i);
        case what::returned:
            return m_.operations[i].fate == fate::abandoned || s.of[i] == phase::met ||
                   s.of[i] == phase::failed;
        case what::close_returned:
            return s.close.at(i) == request::done;
        case what::stop_returned:
            return s.stop.at(i) == request::done;
        case what::invoked:
        case what::close_invoked:
        case what::stop_invoked:
            break;
        }
        return true;
    }

    void see(state& s, what kind, std::size_t i) const {
        switch (kind) {
        case what::invoked:
            s.of[i] = m_.operations[i].stop != 0 ? phase::called : phase::started;
            for (std::size_t j = 0; j != s.length; ++j) {
                if (has_queue(i) && gives_up(m_.operations[i]) &&
                    colours_fit(m_.operations[i], m_.operations[s.queue.at(j)])) {
                    s.found[i] = static_cast<std::uint8_t>(s.found[i] | (1U << s.queue.at(j)));
                }
            }
            break;
        case what::seen_parked:
            s.of[i] = phase::parked;
            break;
        case what::last_seen_parked:
            s.of[i] = phase::was_parked;
            break;
        case what::returned:
            s.of[i] = phase::gone;
            s.leave(i);
            break;
        case what::close_invoked:
            s.close.at(i) = std::max(s.close.at(i), request::made);
            break;
        case what::stop_invoked:
            s.stop.at(i) = std::max(s.stop.at(i), request::made);
            break;
        case what::queued:
        case what::close_returned:
        case what::stop_returned:
            break;
        }
    }

    bool may_rest(const state& s) const {
        return !any([&](std::size_t i) {
            const record& r = m_.operations[i];
            if (s.of[i] == phase::gone) {
                return false;
            }
            const bool is_late = m_.clock && r.deadline && !r.relative && *r.deadline <= *m_.clock;
            return s.of[i] == phase::met || r.way != way::waits || is_closed(s, i) ||
                   is_stopped(s, i) || is_late || any([&](std::size_t j) {
                       return j < i && s.of[j] != phase::gone &&
                              m_.operations[j].channel == r.channel &&
                              colours_fit(r, m_.operations[j]);
                   });
        });
    }

    const made& m_;
    std::vector<event> events_;
    std::set<state> seen_;
};

/// Small histories, of which about every other is possible: parties do at random what they may do,
/// and sometimes what they must not; then some of them are changed.
class author {
public:
    explicit author(unsigned seed) : engine_(seed) {}

    made next() {
        begin();
        const std::size_t moves = m_.operations.size() * (m_.at_rest ? 30 : 5 + one_of(8));
        for (std::size_t i = 0; i != moves; ++i) {
            move();
        }
        for (record& r : m_.operations) {
            r.fate = r.returned == never ? fate::pending : r.fate;
        }
        const auto never_began = [](const auto& each) { return each.invoked == 0; };
        std::erase_if(m_.operations, never_began);
        std::erase_if(m_.closes, never_began);
        std::erase_if(m_.stops, never_began);
        for (std::size_t i = one_of(4); i != 0 && !m_.operations.empty(); --i) {
            spoil();
        }
        return m_;
    }

private:
    std::size_t one_of(std::size_t n) { return engine_() % n; }
    bool one_in(std::size_t n) { return one_of(n) == 0; }
    time_point some_time(std::size_t n) {
        return start_of_time + std::chrono::nanoseconds(one_of(n));
    }

    // ---- Before the first move: what they want.

    void begin() {
        m_ = {};
        now_ = 0;
        queue_.clear();
        const bool has_colours = one_in(2);
        const std::size_t channels = 1 + one_of(2);
        const std::size_t sources = one_of(3);
        m_.fifo = has_colours && !one_in(4);
        m_.at_rest = one_in(3);
        if (one_in(2)) {
            m_.clock = some_time(3);
        }
        const std::size_t count = (m_.fifo ? 4 : 2) + one_of(m_.fifo ? 2 : 4);
        for (std::size_t i = 0; i != count; ++i) {
            record r = op(static_cast<long>(i), 0, never);
            r.channel = static_cast<history::channel_id>(one_of(channels));
            r.colour = !has_colours ? colour::any : one_in(2) ? colour::red : colour::blue;
            r.way = one_in(6) ? way::tries : one_in(6) ? way::overdue : way::waits;
            if (r.way == way::overdue || (r.way == way::waits && one_in(3))) {
                r.deadline = some_time(3);
                r.relative = one_in(4);
            }
            if (r.way != way::tries && one_in(2)) {
                r.stop = one_of(sources + 1);
            }
            m_.operations.push_back(r);
        }
        for (std::size_t first = 0; channels == 2 && first + 2 <= count && !one_in(3); first += 2) {
            make_selection(first);
        }
        for (std::size_t c = 0; c != channels; ++c) {
            if (one_in(4)) {
                m_.closes.push_back({c, 0});
            }
        }
        for (std::size_t i = 0; i != sources; ++i) {
            m_.stops.push_back({i + 1, 0});
        }
    }

    /// Makes a selection of two neighbours.
    void make_selection(std::size_t first) {
        record& a = m_.operations[first];
        record& b = m_.operations[first + 1];
        const record asks = b;
        b = a;
        b.given = asks.given;
        b.colour = asks.colour;
        a.selection = b.selection = first + 1;
        a.channel = 0;
        b.channel = 1;
    }
    /// The other case of its selection, or itself.
    record& beside(const record& r) {
        const auto i = static_cast<std::size_t>(r.given);
        return m_.operations[r.selection == 0 ? i : i ^ 1U];
    }

    // ---- The moves. Until the end, `fate` is known before the operation has returned.

    stamp event() { return 10 * ++now_; }
    /// Some of these are the same.
    stamp between_events() const { return 10 * now_ + 5; }

    void move() {
        std::size_t i = one_of(m_.operations.size() + m_.closes.size() + m_.stops.size());
        if (i < m_.operations.size()) {
            move(m_.operations[i]);
            return;
        }
        i -= m_.operations.size();
        ending& e = i < m_.closes.size() ? m_.closes[i] : m_.stops[i - m_.closes.size()];
        if (e.invoked == 0) {
            e.invoked = one_in(4) ? event() : 0;
        } else if (e.returned == never && !one_in(4)) {
            e.returned = event();
        }
    }

    void move(record& r) {
        record& other = beside(r);
        if (r.returned != never) {
            return;
        }
        if (r.invoked == 0) {
            r.invoked = other.invoked = event();
        } else if (one_in(15)) {
            r.fate = other.fate = fate::abandoned;
            r.returned = other.returned = event();
        } else if (r.fate != fate::pending) {
            r.returned = other.returned = event();
        } else if (const auto why = reason_to_fail(r)) {
            const bool alone = *why == closed || *why == out_of_memory;
            fail(other, alone ? not_selected : *why);
            fail(r, *why);
        } else if (!meets(r) && r.way == way::waits) {
            wait(r);
            wait(other);
        }
    }

    static void fail(record& r, exchange_errc why) {
        r.fate = fate::failed;
        r.error = why;
        r.got = r.given;
    }

    std::optional<exchange_errc> reason_to_fail(record& r) {
        for (const ending& stop : m_.stops) {
            if (stop.what == r.stop && stop.invoked != 0 &&
                (stop.returned < r.invoked || one_in(2))) {
                return cancelled;
            }
        }
        for (const ending& close : m_.closes) {
            if (close.what == r.channel && close.invoked != 0 &&
                (close.returned != never || one_in(2))) {
                return closed;
            }
        }
        if (r.way == way::tries) {
            return one_in(3) ? std::optional(no_partner) : std::nullopt;
        }
        if (r.colour != colour::any && one_in(40)) {
            return out_of_memory;
        }
        if (r.deadline && one_in(4)) {
            r.clock = beside(r).clock = *r.deadline + 1ns - std::chrono::nanoseconds(one_of(3) / 2);
            r.clock -= one_in(20) ? 2ns : 0ns;
            return timed_out;
        }
        return {};
    }

    bool meets(record& r) {
        const bool queues = has_queue(r);
        const auto fits = [&](const record* p) {
            return p != &r && p->invoked != 0 && p->fate == fate::pending &&
                   p->channel == r.channel && colours_fit(*p, r) &&
                   (r.selection == 0 || p->selection != r.selection) &&
                   (p->way == way::waits || r.way == way::waits);
        };
        std::vector<record*> others = queue_;
        if (!queues) {
            others.clear();
            for (record& each : m_.operations) {
                others.push_back(&each);
            }
        }
        if (!queues || one_in(2)) {
            std::ranges::shuffle(others, engine_);
        }
        const auto found = std::ranges::find_if(others, fits);
        if (found == others.end() || (queues && std::ranges::count(queue_, &r) != 0) || one_in(8)) {
            return false;
        }
        for (record* const each : {&r, *found}) {
            fail(beside(*each), not_selected);
            each->fate = fate::exchanged;
        }
        r.got = (*found)->given;
        (*found)->got = r.given;
        return true;
    }

    bool has_queue(const record& r) const { return m_.fifo && r.channel == 0; }

    /// Gets its place in a queue, or is seen waiting.
    void wait(record& r) {
        if (has_queue(r) && std::ranges::count(queue_, &r) == 0) {
            queue_.push_back(&r);
            r.queued = one_in(3) ? never : between_events();
        } else if (one_in(2)) {
            r.parked_from = std::min(r.parked_from, between_events());
            r.parked_until = between_events();
        }
    }

    // ---- Afterwards.

    void spoil() {
        record& r = m_.operations[one_of(m_.operations.size())];
        switch (one_of(7)) {
        case 0:
            r.got = static_cast<long>(one_of(m_.operations.size() + 1));
            break;
        case 1:
            r.error = static_cast<exchange_errc>(1 + one_of(6));
            break;
        case 2:
            r.channel = r.selection == 0 ? 1 - std::min(r.channel, 1U) : r.channel;
            break;
        case 3:
            r.colour = static_cast<colour>(one_of(3));
            break;
        case 4:
            if (r.parked_from == never && r.queued == never) {
                r.way = one_in(2) ? way::waits : one_in(2) ? way::overdue : way::tries;
            }
            break;
        case 5:
            r.fate = fate::pending;
            r.returned = never;
            break;
        default: // all that met at the channel of an unfinished one met that
            if (r.fate == fate::exchanged || r.fate == fate::failed) {
                break;
            }
            for (record& each : m_.operations) {
                if (each.fate == fate::exchanged && each.channel == r.channel) {
                    each.got = r.given;
                }
            }
            break;
        }
    }

    std::mt19937 engine_;
    made m_;
    std::uint64_t now_ = 0;
    std::vector<record*> queue_;
};

std::ostream& operator<<(std::ostream& out, const made& m) {
    for (const record& r : m.operations) {
        out << in_words(r) << "; stop " << r.stop << (r.deadline ? ", has a deadline" : "") << '\n';
    }
    for (const auto* endings : {&m.closes, &m.stops}) {
        for (const ending& e : *endings) {
            out << (endings == &m.closes ? "close " : "stop ") << e.what << ": " << e.invoked
                << " to " << e.returned << '\n';
        }
    }
    return out << (m.at_rest ? "at rest" : "") << (m.fifo ? ", channel 0 is fifo" : "");
}

// In parts, to be run side by side.
class HistorySearch : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Seeds, HistorySearch, ::testing::Range(1U, 5U));

TEST_P(HistorySearch, AgreesThatThereIsAnOrderOfEffects) {
    constexpr int histories = 50'000;
    author a(GetParam());
    int possible = 0;
    int missed = 0;
    std::map<std::string, int> decided_by; // histories that violate exactly these rules
    for (int i = 0; i != histories; ++i) {
        const made m = a.next();
        const std::string said = verdict(m);
        const bool is_possible = search(m).succeeds();
        if (is_possible || !m.fifo) {
            ASSERT_EQ(said.empty(), is_possible) << m << '\n' << said;
        }
        possible += is_possible ? 1 : 0;
        missed += said.empty() && !is_possible ? 1 : 0;
        ++decided_by[rules_in(said)];
    }
    EXPECT_GT(possible, histories / 5);
    EXPECT_LT(possible, histories * 4 / 5);
    // What takes the places of several in a queue to disprove.
    EXPECT_LT(missed, histories / 200);
    for (const char* rule : {"R1 mutual", "R2 once", "R3 overlap", "R4 colours", "R5 returned",
                             "deadline", "stop", "close", "no_partner", "out_of_memory", "parked",
                             "fifo", "at rest", "selection", "not_selected"}) {
        EXPECT_GT(decided_by[rule], 20) << rule;
    }
}

} // namespace
} // namespace tryst::test
