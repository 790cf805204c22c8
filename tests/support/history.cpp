// SPDX-License-Identifier: MIT
#include "support/history.hpp"

#include "support/findings.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace tryst::test {

history::record& history::operation::end(fate how) {
    const stamp now = log_->all_->tick(); // first: it shall not come later than it must
    record& entry = std::exchange(log_, nullptr)->records_[index_];
    entry.returned = now;
    entry.fate = how;
    return entry;
}

void history::operation::exchanged(long got) {
    end(fate::exchanged).got = got;
}

void history::operation::exchanged_unseen() {
    end(fate::exchanged).unseen = true;
}

void history::operation::came(std::optional<time_point> clock) {
    record& entry = end(fate::exchanged);
    entry.unseen = true;
    entry.clock = clock ? *clock : detail::clock::now();
}

const history::call& history::operation::known() const noexcept {
    return log_->records_[index_];
}

void history::operation::failed(exchange_errc error, long own, std::optional<time_point> clock) {
    record& entry = end(fate::failed);
    entry.error = error;
    entry.got = own;
    if (error == exchange_errc::timed_out) {
        entry.clock = clock ? *clock : detail::clock::now();
    }
}

void history::operation::parked(stamp when) {
    record& entry = log_->records_[index_];
    entry.parked_from = std::min(entry.parked_from, when);
    entry.parked_until = std::max(entry.parked_until, when);
}

void history::operation::queued(stamp when) {
    record& entry = log_->records_[index_];
    entry.queued = std::min(entry.queued, when);
}

template <class Property>
std::size_t history::count(Property has) const noexcept {
    std::size_t all = 0;
    for (const auto& each : logs_) {
        all += static_cast<std::size_t>(std::ranges::count_if(each->records_, has));
    }
    return all;
}

std::size_t history::exchanged() const noexcept {
    return count([](const record& r) { return r.fate == fate::exchanged && r.way != way::comes; });
}

std::size_t history::failed(exchange_errc why) const noexcept {
    return count([why](const record& r) { return r.fate == fate::failed && r.error == why; });
}

std::size_t history::abandoned() const noexcept {
    return count([](const record& r) { return r.fate == fate::abandoned; });
}

void history::clear() noexcept {
    for (const auto& each : logs_) {
        each->records_.clear();
        each->closes_.clear();
        each->stops_.clear();
    }
}

namespace {

using record = history::record;
using fate = history::fate;
using way = history::way;
using colour = history::colour;

/// The colour that may meet `c`.
colour opposite(colour c) noexcept {
    return c == colour::red ? colour::blue : c == colour::blue ? colour::red : colour::any;
}

bool failed_by(const record& r, exchange_errc why) noexcept {
    return r.fate == fate::failed && r.error == why;
}

/// Whether it gave up because there was no partner.
bool found_nobody(const record& r) noexcept {
    return failed_by(r, exchange_errc::timed_out) || failed_by(r, exchange_errc::no_partner) ||
           failed_by(r, exchange_errc::out_of_memory);
}

/// Whether it is a case of a set.
bool is_of_set(const record& r) noexcept {
    return r.place_since != history::never;
}

/// Whether others may find it waiting: a set offers its cases even if it will not wait.
bool offers(const record& r) noexcept {
    return r.way == way::waits || is_of_set(r);
}

bool is_event(const record& r) noexcept {
    return r.way == way::comes;
}

bool was_parked(const record& r) noexcept {
    return r.parked_from != history::never;
}

} // namespace

std::string in_words(const history::record& r) {
    constexpr const char* colours[] = {"", "red, ", "blue, "};
    constexpr const char* ways[] = {"", "overdue, ", "late, ", "trying, ", "event, "};
    std::ostringstream out;
    out << "the one that gave " << r.given << " (" << colours[static_cast<int>(r.colour)]
        << "channel " << r.channel << ", " << at(r.invoked) << " to " << at(r.returned) << ", "
        << ways[static_cast<int>(r.way)];
    if (r.selection != 0) {
        out << "selection " << r.selection << ", ";
    }
    if (was_parked(r)) {
        out << "parked " << at(r.parked_from) << " to " << at(r.parked_until) << ", ";
    }
    if (r.queued != history::never) {
        out << "queued by " << r.queued << ", ";
    }
    switch (r.fate) {
    case fate::pending:
        out << "pending";
        break;
    case fate::abandoned:
        out << "abandoned";
        break;
    case fate::exchanged:
        out << "received " << r.got;
        break;
    case fate::failed:
        out << make_error_code(r.error).message() << ", " << r.got << " returned";
        break;
    }
    out << ")";
    return out.str();
}

namespace {

/// Something that happens once, at an instant that is not known: a close, a stop. All that is known
/// to precede it and to follow it must leave room for it.
struct turning_point {
    stamp earliest = history::never; ///< The first request.
    stamp before = history::never; ///< The first evidence that it has happened.
    const record* witness = nullptr; ///< Who saw that; null: the request's own return.
    stamp after = 0; ///< The last evidence that it had not.

    void seen_by(const record& r) noexcept {
        if (r.returned < before) {
            before = r.returned;
            witness = &r;
        }
    }
};

/// What was requested, by its id.
using turning_points = std::unordered_map<std::uint64_t, turning_point>;

void add(turning_points& all, const history::ending& e) {
    turning_point& p = all[e.what];
    p.earliest = std::min(p.earliest, e.invoked);
    p.before = std::min(p.before, e.returned);
}

constexpr std::size_t colours = 3;

class checker {
public:
    checker(std::vector<const record*> operations, turning_points closes, turning_points stops,
            std::unordered_set<history::channel_id> fifo)
        : operations_(std::move(operations)), closes_(std::move(closes)), stops_(std::move(stops)),
          fifo_(std::move(fifo)) {
        std::ranges::sort(operations_, {},
                          [](const record* r) { return std::pair(r->given, r->invoked); });
        receivers_.resize(operations_.size());
    }

    std::string check(bool at_rest, std::optional<history::time_point> clock) {
        for (std::size_t i = 1; i < operations_.size(); ++i) {
            const record& before = *operations_[i - 1];
            const record& r = *operations_[i];
            if (before.given == r.given &&
                (before.fate != fate::failed || before.returned > r.invoked)) {
                report("recorded", "a value was given twice: by ", before, " and ", r);
                return findings_.text(); // nothing else would make sense
            }
        }
        for (const record* r : operations_) {
            if (is_event(*r)) {
                check_event(*r);
            } else if (r->fate == fate::exchanged) {
                check_exchange(*r);
            } else if (r->fate == fate::failed) {
                check_failure(*r);
            }
        }
        check_selections();
        check_turning_points(at_rest);
        const std::vector<stay> stays = find_stays(at_rest);
        check_parked(stays);
        check_order(stays);
        if (at_rest) {
            check_waiting(clock);
        }
        return findings_.text();
    }

private:
    template <class... Parts>
    void report(std::string_view rule, const Parts&... parts) {
        findings_.report(rule, parts...);
    }

    /// The place of whoever gave `value` last; that of nobody is the end.
    std::size_t giver_of(long value) const {
        const auto after = std::ranges::upper_bound(operations_, value, {}, &record::given);
        return after != operations_.begin() && (*(after - 1))->given == value
                   ? static_cast<std::size_t>(after - operations_.begin()) - 1
                   : operations_.size();
    }

    void check_exchange(const record& r) {
        const std::size_t giver = giver_of(r.got);
        if (giver == operations_.size() || is_event(*operations_[giver])) {
            report("R1 mutual", r, " received what nobody gave");
            return;
        }
        const record& partner = *operations_[giver];
        if (const record* const other = std::exchange(receivers_[giver], &r)) {
            report("R2 once", r, " and ", *other, " received the same value");
        }
        if (&partner == &r) {
            report("R1 mutual", r, " received its own value as a partner's");
            return;
        }
        if (partner.channel != r.channel) {
            report("R1 mutual", r, " received a value from another channel, of ", partner);
        }
        if (r.selection != 0 && partner.selection == r.selection) {
            report("selection", r, " met another case of its own selection, ", partner);
        }
        switch (partner.fate) {
        case fate::failed:
            report("R5 returned", r, " received the value of one that failed, ", partner);
            return;
        case fate::exchanged:
            if (partner.got != r.given) {
                report("R1 mutual", r, " received the value of one that did not receive its own, ",
                       partner);
                return;
            }
            if (partner.given < r.given) {
                return; // what follows was said for the partner
            }
            break;
        case fate::pending:
        case fate::abandoned:
            break;
        }
        check_pair(r, partner);
    }

    void check_pair(const record& a, const record& b) {
        // Who was seen parked had not met its partner yet.
        if (std::max(a.invoked, a.parked_until) > b.returned ||
            std::max(b.invoked, b.parked_until) > a.returned) {
            report("R3 overlap", a, " met one that it cannot have met, ", b);
        }
        if (!offers(a) && !offers(b)) {
            report("R3 overlap", a, " met ", b, ", but neither of them offers");
        }
        if (b.colour != opposite(a.colour)) {
            report("R4 colours", a, " met one of the wrong colour, ", b);
        }
    }

    void check_failure(const record& r) {
        if (r.got != r.given) {
            report("R5 returned", r, " did not get its own value back");
        }
        switch (r.error) {
        case exchange_errc::timed_out:
            if (!r.deadline || r.way == way::tries) {
                report("deadline", r, " has no deadline");
            } else if (r.clock < *r.deadline) {
                report("deadline", r, " timed out ", (*r.deadline - r.clock).count(),
                       " ticks of the clock too early");
            }
            return;
        case exchange_errc::no_partner:
            if (r.way != way::tries) {
                report("no_partner", r, " does not merely try");
            }
            return;
        case exchange_errc::out_of_memory:
            if (r.colour == colour::any || (r.way == way::tries && !r.buffered && !is_of_set(r))) {
                report("out_of_memory", r, " needs no memory");
            }
            return;
        case exchange_errc::unavailable:
        case exchange_errc::in_doubt:
            report("error", r, " is not remote");
            return;
        case exchange_errc::not_selected:
            if (r.selection == 0) {
                report("not_selected", r, " belongs to no selection");
            }
            return; // see check_selections
        case exchange_errc::cancelled:
            if (r.stop == 0) {
                report("stop", r, " has no stop source");
            } else if (stops_[r.stop].earliest > r.returned) {
                report("stop", r, " was cancelled before its stop was requested");
            } else {
                stops_[r.stop].seen_by(r);
            }
            return;
        case exchange_errc::closed:
            if (closes_[r.channel].earliest > r.returned) {
                report("close", r, " found the channel closed before anybody closed it");
            } else {
                closes_[r.channel].seen_by(r);
            }
            return;
        }
        report("recorded", r, " failed for no known reason");
    }

    void check_event(const record& r) {
        if (r.selection == 0) {
            report("event", r, " belongs to no selection");
        }
        if (r.fate == fate::failed && r.got != r.given) {
            report("R5 returned", r, " did not get its own value back");
        }
        if (!r.unseen) {
            return;
        }
        if (r.deadline && r.clock < *r.deadline) {
            report("event", r, " came before its time");
        }
        if (r.stop != 0 && stops_[r.stop].earliest > r.returned) {
            report("event", r, " came before its stop was requested");
        } else if (r.stop != 0) {
            stops_[r.stop].seen_by(r);
        }
    }

    /// Whether the selection of this case is decided for it, as far as is known.
    bool took_place(std::size_t i) const {
        const record& r = *operations_[i];
        return r.fate == fate::failed
                   ? r.error == exchange_errc::closed || r.error == exchange_errc::out_of_memory
                   : r.unseen || has_met(i);
    }

    /// Whether the call has returned.
    static bool has_returned(const record& r) noexcept {
        return r.unseen || r.fate == fate::exchanged || r.fate == fate::failed;
    }

    void check_selections() {
        struct selection {
            const record* first = nullptr;
            const record* selected = nullptr;
        };
        std::unordered_map<history::selection_id, selection> selections;
        for (std::size_t i = 0; i != operations_.size(); ++i) {
            const record& r = *operations_[i];
            if (r.selection == 0) {
                continue;
            }
            selection& mine = selections[r.selection];
            if (mine.first == nullptr) {
                mine.first = &r;
            }
            if (took_place(i)) {
                if (const record* const other = std::exchange(mine.selected, &r)) {
                    report("selection", r, " took place, and so did another case, ", *other);
                }
            }
        }
        for (std::size_t i = 0; !selections.empty() && i != operations_.size(); ++i) {
            if (const record& r = *operations_[i]; r.selection != 0) {
                const auto& [first, selected] = selections[r.selection];
                check_case(r, took_place(i), *first, selected);
            }
        }
        find_doubles(selections.empty());
    }

    void check_case(const record& r, bool took_place, const record& first, const record* selected) {
        if (has_returned(r) ? !has_returned(first) : r.fate != first.fate) {
            report("selection", r, " did not end together with another case, ", first);
        } else if (!has_returned(r) || took_place) {
            return;
        } else if (selected != nullptr) {
            if (r.error != exchange_errc::not_selected) {
                report("selection", r, " failed by itself, though another case took place, ",
                       *selected);
            }
        } else if (r.error == exchange_errc::not_selected) {
            report("not_selected", r, " belongs to a selection of which no case took place");
        } else if (r.error != first.error) {
            report("selection", r, " failed for another reason than another case, ", first);
        } else if (is_event(r) && found_nobody(r) && first.way != way::late &&
                   r.invoked > stops_[r.stop].before) {
            report("event", r, " was overlooked", since(stops_[r.stop]));
        }
    }

    /// Of several cases of a selection at one channel, only one takes part.
    void find_doubles(bool none) {
        is_double_.assign(operations_.size(), false);
        if (none) {
            return;
        }
        std::map<std::pair<history::selection_id, history::channel_id>, std::size_t> cases;
        for (std::size_t i = 0; i != operations_.size(); ++i) {
            const record& r = *operations_[i];
            if (r.selection == 0 || is_event(r)) {
                continue;
            }
            const auto [other, is_first] = cases.try_emplace({r.selection, r.channel}, i);
            if (!is_first) {
                is_double_[took_place(i) ? std::exchange(other->second, i) : i] = true;
            }
        }
    }

    /// Whether it has met a partner, as far as is known.
    bool has_met(std::size_t i) const {
        return operations_[i]->fate == fate::exchanged || receivers_[i] != nullptr;
    }

    /// After all evidence of closes and stops is in.
    void check_turning_points(bool at_rest) {
        for (std::size_t i = 0; i != operations_.size(); ++i) {
            const record& r = *operations_[i];
            const bool waits_on = at_rest && r.fate == fate::pending;
            if (is_event(r)) {
                continue;
            }
            // When the channel was open, at the latest that is known.
            turning_point& close = closes_[r.channel];
            // A case of a set looks only when it gets its place: later a close comes to it, unless
            // a partner that is late has claimed it before. If its deadline has passed, with a
            // spent budget, it may not look at all.
            const stamp looked = std::min(r.invoked, r.place_since);
            const bool looks = !is_of_set(r) || !failed_by(r, exchange_errc::timed_out);
            const bool found_it_open = has_met(i) || (found_nobody(r) && looks);
            close.after = std::max(
                {close.after, found_it_open ? looked : 0, was_parked(r) ? r.parked_until : 0});
            if (waits_on && close.before != history::never) {
                report("at rest", r, " waits on, though the channel is closed");
            } else if (found_it_open && looked > close.before) {
                report("close", r, " began when the channel was closed", since(close));
            } else if (was_parked(r) && r.parked_until > close.before) {
                report("close", r, " was parked when the channel was closed", since(close));
            }
            if (r.stop == 0 || (failed_by(r, exchange_errc::cancelled) && !was_parked(r))) {
                continue;
            }
            const turning_point& stop = stops_[r.stop];
            if (waits_on && stop.before != history::never) {
                report("at rest", r, " waits on, though its stop was requested");
            } else if ((has_met(i) || r.fate == fate::failed || was_parked(r)) &&
                       r.invoked > stop.before) {
                report("stop", r, " began when its stop had been requested", since(stop));
            }
        }
    }

    static std::string since(const turning_point& p) {
        return p.witness == nullptr ? std::string() : ", which is known by " + in_words(*p.witness);
    }

    /// When it is certain that an operation waited.
    struct stay {
        const record* who;
        stamp from;
        stamp until;
    };

    /// In the order of their beginnings, channel by channel.
    std::vector<stay> find_stays(bool at_rest) {
        std::vector<stay> stays;
        for (std::size_t i = 0; i != operations_.size(); ++i) {
            const record& r = *operations_[i];
            if (is_double_[i]) {
                continue;
            }
            if (!fifo_.contains(r.channel)) {
                if (was_parked(r)) {
                    stays.push_back({&r, r.parked_from, r.parked_until});
                }
            } else if (const stamp from = std::min(r.queued, r.parked_from);
                       from != history::never) {
                const stamp until = std::max(r.parked_until, earliest_end(i, at_rest));
                if (until >= from) {
                    stays.push_back({&r, from, until});
                }
            }
        }
        std::ranges::sort(stays, {},
                          [](const stay& s) { return std::pair(s.who->channel, s.from); });
        return stays;
    }

    /// When the wait in a queue ended, at the earliest.
    stamp earliest_end(std::size_t i, bool at_rest) {
        const record& r = *operations_[i];
        if (const record* const partner = partner_of(i)) {
            return std::max(partner->invoked, partner->parked_until);
        }
        if (failed_by(r, exchange_errc::closed)) {
            const turning_point& close = closes_[r.channel];
            return std::max(close.earliest, close.after);
        }
        return at_rest && r.fate == fate::pending ? history::never : 0;
    }

    const record* partner_of(std::size_t i) const {
        if (operations_[i]->fate == fate::exchanged) {
            const std::size_t giver = giver_of(operations_[i]->got);
            return giver == operations_.size() ? nullptr : operations_[giver];
        }
        return receivers_[i];
    }

    void check_parked(const std::vector<stay>& stays) {
        struct places {
            std::array<cover, colours> covers;
            std::array<const stay*, colours> latest{};
        };
        std::unordered_map<history::channel_id, places> channels;
        for (const stay& s : stays) {
            places& here = channels[s.who->channel];
            const stay* const other =
                here.latest.at(static_cast<std::size_t>(opposite(s.who->colour)));
            if (other != nullptr && other->until >= s.from) {
                report("parked", *s.who, " was parked together with one that it could have met, ",
                       *other->who);
            }
            const auto mine = static_cast<std::size_t>(s.who->colour);
            here.covers.at(mine).add(s.from, s.until, !fifo_.contains(s.who->channel));
            const stay*& latest = here.latest.at(mine);
            if (latest == nullptr || latest->until < s.until) {
                latest = &s;
            }
        }
        for (const record* r : operations_) {
            const auto here = channels.find(r->channel);
            const bool had_ticket = fifo_.contains(r->channel) && offers(*r);
            const bool looks = !had_ticket && r->way != way::late;
            if (here != channels.end() && found_nobody(*r) && looks &&
                here->second.covers.at(static_cast<std::size_t>(opposite(r->colour)))
                    .contains(r->invoked, r->returned)) {
                report("parked", *r, " overlooked a partner that was parked all the time");
            }
        }
    }

    /// Nobody is served while another of its colour waits, in a queue, who was there before.
    void check_order(const std::vector<stay>& stays) {
        if (fifo_.empty()) {
            return;
        }
        struct served {
            const record* who;
            stamp latest; // when it met its partner
        };
        std::vector<served> all;
        for (std::size_t i = 0; i != operations_.size(); ++i) {
            const record& r = *operations_[i];
            if (const record* const partner = partner_of(i);
                partner != nullptr && fifo_.contains(r.channel)) {
                all.push_back({&r, std::min(r.returned, partner->returned)});
            }
        }
        const auto begun = [](const served& s) {
            return std::pair(s.who->channel, std::min(s.who->invoked, s.who->place_since));
        };
        std::ranges::sort(all, {}, begun);
        using waiting = std::array<const stay*, colours>; // the one that waits longest
        std::unordered_map<history::channel_id, waiting> channels;
        auto next = stays.begin();
        for (const served& s : all) {
            const auto key = begun(s);
            for (; next != stays.end() && std::pair(next->who->channel, next->from) < key; ++next) {
                const stay*& longest =
                    channels[next->who->channel].at(static_cast<std::size_t>(next->who->colour));
                if (longest == nullptr || longest->until < next->until) {
                    longest = &*next;
                }
            }
            const stay* const before =
                channels[s.who->channel].at(static_cast<std::size_t>(s.who->colour));
            if (before != nullptr && s.latest < before->until) {
                report("fifo", *s.who, " was served before one that was waiting when it began, ",
                       *before->who);
            }
        }
    }

    /// Nothing is under way any more.
    void check_waiting(std::optional<history::time_point> clock) {
        using waiting = std::array<const record*, colours>;
        std::unordered_map<history::channel_id, waiting> channels;
        for (std::size_t i = 0; i != operations_.size(); ++i) {
            const record& r = *operations_[i];
            if (r.fate != fate::pending || is_double_[i]) {
                continue;
            }
            if (receivers_[i] != nullptr) {
                report("at rest", r, " waits on, though it has met ", *receivers_[i]);
                continue;
            }
            if (r.way != way::waits && !is_event(r)) {
                report("at rest", r, " never waits, and has not returned");
            }
            if (clock && r.deadline && !r.relative && *r.deadline <= *clock) {
                report("at rest", r, " waits on, though its deadline has passed");
            }
            if (is_event(r)) {
                if (stops_[r.stop].before != history::never) {
                    report("at rest", r, " waits on, though its stop was requested");
                }
                continue;
            }
            waiting& here = channels[r.channel];
            if (const record* const other = here.at(static_cast<std::size_t>(opposite(r.colour)))) {
                report("at rest", r, " waits on, and so does one that it could meet, ", *other);
            }
            here.at(static_cast<std::size_t>(r.colour)) = &r;
        }
    }

    std::vector<const record*> operations_; // by the value given
    std::vector<const record*> receivers_; // of each one's value
    std::vector<bool> is_double_;
    turning_points closes_;
    turning_points stops_;
    std::unordered_set<history::channel_id> fifo_;
    findings findings_;
};

} // namespace

std::string history::check(bool at_rest, std::optional<time_point> clock) const {
    std::vector<const record*> operations;
    turning_points closes;
    turning_points stops;
    std::unordered_map<long, long> receivers;
    std::deque<record> completed;
    const auto has_unseen = [](const auto& each) {
        return std::ranges::any_of(each->records_, &record::unseen);
    };
    if (std::ranges::any_of(logs_, has_unseen)) {
        for (const auto& each : logs_) {
            for (const record& r : each->records_) {
                if (r.fate == fate::exchanged && !r.unseen) {
                    receivers.emplace(r.got, r.given);
                }
            }
        }
    }
    for (const auto& each : logs_) {
        for (const record& r : each->records_) {
            if (r.unseen) {
                record& known = completed.emplace_back(r);
                const auto receiver = receivers.find(r.given);
                if (receiver == receivers.end()) {
                    known.fate = fate::abandoned; // and so is who got its value
                } else {
                    known.got = receiver->second;
                }
                operations.push_back(&known);
            } else {
                operations.push_back(&r);
            }
        }
        for (const ending& e : each->closes_) {
            add(closes, e);
        }
        for (const ending& e : each->stops_) {
            add(stops, e);
        }
    }
    return checker(std::move(operations), std::move(closes), std::move(stops),
                   {fifo_.begin(), fifo_.end()})
        .check(at_rest, clock);
}

} // namespace tryst::test
