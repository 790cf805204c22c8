// SPDX-License-Identifier: MIT
#include "support/channel_history.hpp"

#include "support/findings.hpp"

#include <map>
#include <span>
#include <sstream>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace tryst::test {

std::size_t channel_history::count(act what, fate how, exchange_errc why) const noexcept {
    std::size_t all = 0;
    for (const auto& each : logs_) {
        all += static_cast<std::size_t>(std::ranges::count_if(each->records_, [&](const record& r) {
            return r.what == what && r.fate == how && r.error == why;
        }));
    }
    return all;
}

namespace {

using record = channel_history::record;
using change = channel_history::change;
using act = channel_history::act;
using fate = channel_history::fate;
using weigher = channel_history::weigher;

} // namespace

std::string in_words(const channel_history::record& r) {
    constexpr const char* acts[] = {"send", "receive", "taking"};
    constexpr const char* fates[] = {"pending", "done", "failed", "abandoned"};
    std::ostringstream out;
    out << "the " << (r.tries ? "trying " : "") << acts[static_cast<int>(r.what)] << " of";
    for (const long each : r.items) {
        out << ' ' << each;
    }
    out << " (channel " << r.channel << ", " << at(r.begun) << " to " << at(r.ended) << ", "
        << fates[static_cast<int>(r.fate)];
    if (r.fate == fate::failed) {
        out << ": " << make_error_code(r.error).message();
        if (r.what == act::sends) {
            out << ", " << r.moved << " sent";
        }
    }
    if (r.queued != never) {
        out << ", queued by " << r.queued;
    }
    out << ")";
    return out.str();
}

namespace {

/// An item's way through its channel.
struct passage {
    long item = 0;
    const record* sent = nullptr;
    std::size_t sent_as = 0; ///< Which of the send's items it is.
    const record* got = nullptr; ///< Null if no receiver of it is known.
    std::size_t got_as = 0;

    /// Whether it never entered the channel.
    bool has_failed() const noexcept {
        return sent->fate == fate::failed && sent_as >= sent->moved;
    }
};

/// When its place in the order of its side was certain.
stamp placed(const record& r) noexcept {
    return std::min(r.queued, r.ended);
}

/// When it had its place, at the earliest.
stamp arrived(const record& r) noexcept {
    return std::min(r.begun, r.placed_since);
}

bool failed_by(const record& r, exchange_errc why) noexcept {
    return r.fate == fate::failed && r.error == why;
}

/// Which limits a channel may have had, and when.
class limits {
public:
    limits(std::size_t first, std::vector<change> changes) {
        changes.push_back({.begun = 0, .ended = 0, .limit = first});
        std::ranges::sort(changes, {}, &change::begun);
        // It is replaced by the end of each change that began after its own end.
        std::vector<stamp> ends(changes.size(), never); // the earliest of this and the later ones
        for (std::size_t i = changes.size(); i-- != 0;) {
            ends[i] = std::min(changes[i].ended, i + 1 != ends.size() ? ends[i + 1] : never);
        }
        stamp latest = 0;
        for (const change& each : changes) {
            const auto later = std::ranges::upper_bound(changes, each.ended, {}, &change::begun);
            const stamp until = later == changes.end()
                                    ? never
                                    : ends[static_cast<std::size_t>(later - changes.begin())];
            latest = std::max(latest, until);
            all_.push_back({each.begun, until, latest, each.limit});
        }
    }

    /// The extreme limit that the channel may have had at some moment between these.
    template <class Better>
    std::size_t extreme(stamp from, stamp until, Better better) const {
        auto each = std::ranges::lower_bound(all_, from, {}, &span::latest);
        std::size_t found = each->limit;
        for (; each != all_.end() && each->from <= until; ++each) {
            if (each->until >= from) {
                found = better(found, each->limit);
            }
        }
        return found;
    }

private:
    struct span {
        stamp from;
        stamp until;
        stamp latest; ///< The maximum of `until` so far.
        std::size_t limit;
    };
    std::vector<span> all_;
};

/// One channel.
class channel_checker {
public:
    channel_checker(findings& found, std::vector<const record*> operations,
                    std::vector<passage> passages, std::span<const change> closes, limits had,
                    weigher weigh)
        : found_(found), operations_(std::move(operations)), passages_(std::move(passages)),
          closes_(closes), limits_(std::move(had)), weigh_(weigh) {}

    void check() {
        check_each();
        check_closed();
        check_lost();
        check_order();
        check_order_in_calls<&passage::sent, &passage::sent_as, &passage::got, &passage::got_as>();
        check_order_in_calls<&passage::got, &passage::got_as, &passage::sent, &passage::sent_as>();
        check_limit();
        check_overlooked();
        check_room();
    }

private:
    std::size_t weight_of(long item) const { return weigh_ == nullptr ? 1 : weigh_(item); }

    void check_each() {
        for (const record* r : operations_) {
            if (r->is_garbled) {
                found_.report("returned", *r, " did not get its own items back");
            }
            if ((failed_by(*r, exchange_errc::no_partner) && !r->tries) ||
                (failed_by(*r, exchange_errc::out_of_memory) && r->what != act::sends)) {
                found_.report("error", *r, " cannot fail so");
            }
        }
    }

    void check_closed() {
        stamp first = never;
        stamp before = never; // when it was closed, at the latest
        stamp taken = never; // likewise, and empty
        for (const change& each : closes_) {
            first = std::min(first, each.begun);
            before = std::min(before, each.ended);
        }
        for (const record* r : operations_) {
            if (r->what == act::takes) {
                first = std::min(first, r->begun);
                taken = std::min(taken, r->ended);
            }
        }
        before = std::min(before, taken);
        for (const record* r : operations_) {
            if (failed_by(*r, exchange_errc::closed) && r->ended < first) {
                found_.report("closed", *r, " found the channel closed before anybody closed it");
            }
            const bool sent = r->what == act::sends && r->moved != 0;
            if (r->begun > before && (sent || failed_by(*r, exchange_errc::no_partner))) {
                found_.report("closed", *r, " began when the channel was closed");
            }
            if (r->begun > taken && r->what == act::receives && !r->items.empty()) {
                found_.report("closed", *r, " began when the items had been taken");
            }
        }
    }

    void check_lost() {
        std::erase_if(passages_, [](const passage& p) { return p.has_failed(); });
        const auto known = std::ranges::partition(passages_, [](const passage& p) {
                               return p.got != nullptr;
                           }).begin();
        unknown_.assign(known, passages_.end());
        passages_.erase(known, passages_.end());
        std::size_t places = 0; // of those that may have taken items, and cannot say so
        for (const record* r : operations_) {
            places += r->what == act::receives && r->fate == fate::abandoned ? r->places : 0;
        }
        for (const passage& each : unknown_) {
            if (each.sent->fate == fate::pending || each.sent->fate == fate::abandoned) {
                continue;
            }
            if (places == 0) {
                found_.report("lost", each.item, " was never received, of ", *each.sent);
            } else {
                --places;
            }
        }
    }

    void check_order() {
        // Those that began to be sent after others were placed.
        std::vector<const passage*> begun;
        for (const passage& each : passages_) {
            begun.push_back(&each);
        }
        std::vector<const passage*> before = begun;
        std::ranges::sort(begun, {}, [](const passage* p) { return arrived(*p->sent); });
        std::ranges::sort(before, {}, [](const passage* p) { return placed(*p->sent); });
        auto next = before.begin();
        const passage* last = nullptr; // the one whose receive began last, of those sent before
        for (const passage* p : begun) {
            for (; next != before.end() && placed(*(*next)->sent) < arrived(*p->sent); ++next) {
                if (last == nullptr || arrived(*last->got) < arrived(*(*next)->got)) {
                    last = *next;
                }
            }
            if (last != nullptr && placed(*p->got) < arrived(*last->got)) {
                report_order(*last, *p);
            }
        }
    }

    /// As `check_order`, for items of one call, which are in order.
    template <auto Call, auto Place, auto Other, auto OtherPlace>
    void check_order_in_calls() {
        std::ranges::sort(passages_, {},
                          [](const passage& p) { return std::tuple((p.*Call)->begun, p.*Place); });
        const passage* soonest = nullptr; // of the later ones of the same call
        for (std::size_t i = passages_.size(); i-- != 0;) {
            const passage& p = passages_[i];
            if (soonest == nullptr || soonest->*Call != p.*Call) {
                soonest = &p;
                continue;
            }
            const passage& next = passages_[i + 1];
            if (placed(*(soonest->*Other)) < arrived(*(p.*Other))) {
                report_order(p, *soonest);
            } else if (next.*Other == p.*Other && next.*OtherPlace < p.*OtherPlace) {
                report_order(p, next);
            }
            if (placed(*(p.*Other)) < placed(*(soonest->*Other))) {
                soonest = &p;
            }
        }
    }

    void report_order(const passage& a, const passage& b) {
        found_.report("fifo", a.item, " and ", b.item,
                      " left in another order than they came: ", *a.sent, " and ", *a.got, "; ",
                      *b.sent, " and ", *b.got);
    }

    struct event {
        stamp when;
        enum class kind : std::uint8_t { enters, leaves, tries } what;
        const passage* who;
        const record* attempt = nullptr;
    };

    /// Calls `see(event, count, weight)` after each event, with the sums of what is inside.
    template <class See>
    void sweep(std::vector<event>& events, See see) {
        std::ranges::sort(events, {}, &event::when);
        std::size_t count = 0;
        std::size_t weight = 0;
        for (const event& each : events) {
            if (each.what == event::kind::enters) {
                ++count;
                weight += weight_of(each.who->item);
            } else if (each.what == event::kind::leaves) {
                --count;
                weight -= weight_of(each.who->item);
            }
            see(each, count, weight);
        }
    }

    void check_limit() {
        std::vector<event> events;
        for (const passage& p : passages_) {
            if (p.sent->ended < p.got->begun) {
                events.push_back({p.sent->ended, event::kind::enters, &p});
                events.push_back({p.got->begun, event::kind::leaves, &p});
            }
        }
        sweep(events, [&](const event& e, std::size_t count, std::size_t weight) {
            if (e.what != event::kind::enters) {
                return;
            }
            // The last of those inside came after this began to be sent, and had room.
            const auto most = limits_.extreme(e.who->sent->begun, e.when, std::ranges::max);
            if (count == 1 ? most == 0 : weight > most) {
                found_.report("limit", "after ", *e.who->sent, ", ", weight,
                              " is inside, but the limit was ", most);
            }
        });
    }

    /// Whether the operation gave up, and must have found nothing for that.
    static bool found_nothing(const record& r) noexcept {
        return failed_by(r, exchange_errc::no_partner) ||
               (r.what == act::receives && failed_by(r, exchange_errc::closed));
    }

    void check_overlooked() {
        struct stay {
            stamp from;
            stamp until;
        };
        std::vector<stay> items; // when each could be received
        std::vector<stay> receivers; // when each waited
        for (const passage& p : passages_) {
            items.push_back({placed(*p.sent), p.got->begun});
            if (p.got->queued < p.sent->begun && p.got_as == 0) {
                receivers.push_back({p.got->queued, p.sent->begun});
            }
        }
        cover with_items;
        cover with_receivers;
        for (auto& [stays, all] : {std::pair(&items, &with_items), {&receivers, &with_receivers}}) {
            std::ranges::sort(*stays, {}, &stay::from);
            for (const stay& each : *stays) {
                if (each.from < each.until) {
                    all->add(each.from, each.until, true);
                }
            }
        }
        for (const record* r : operations_) {
            const cover& partners = r->what == act::sends ? with_receivers : with_items;
            if (found_nothing(*r) && partners.contains(r->begun, r->ended)) {
                found_.report("overlooked", *r, " failed, though it always could have been served");
            }
        }
    }

    /// A send that tries needs no receiver while there is room, and no other sender.
    void check_room() {
        std::vector<const record*> sends;
        std::ranges::copy_if(operations_, std::back_inserter(sends),
                             [](const record* r) { return r->what == act::sends; });
        std::ranges::sort(sends, {}, &record::begun);
        std::vector<event> events;
        stamp busy = 0; // until when an earlier send was under way
        for (std::size_t i = 0; i != sends.size(); ++i) {
            const record& r = *sends[i];
            const bool alone =
                busy < r.begun && (i + 1 == sends.size() || r.ended < sends[i + 1]->begun);
            if (alone && failed_by(r, exchange_errc::no_partner)) {
                events.push_back({r.begun, event::kind::tries, nullptr, &r});
            }
            busy = std::max(busy, r.ended);
        }
        if (events.empty()) {
            return;
        }
        for (const auto* known : {&passages_, &unknown_}) {
            for (const passage& p : *known) {
                events.push_back({p.sent->begun, event::kind::enters, &p});
                if (p.got != nullptr) {
                    events.push_back({p.got->ended, event::kind::leaves, &p});
                }
            }
        }
        sweep(events, [&](const event& e, std::size_t count, std::size_t weight) {
            if (e.what != event::kind::tries) {
                return;
            }
            const record& r = *e.attempt;
            const auto least = limits_.extreme(r.begun, r.ended, std::ranges::min);
            if (least != 0 && (count == 0 || weight + weight_of(r.items[0]) <= least)) {
                found_.report("overlooked", r, " failed, though there was room");
            }
        });
    }

    findings& found_;
    std::vector<const record*> operations_;
    std::vector<passage> passages_;
    std::vector<passage> unknown_; ///< Those that may have entered, and were not received.
    std::span<const change> closes_;
    limits limits_;
    weigher weigh_;
};

} // namespace

std::string channel_history::violations() const {
    findings found;
    std::unordered_map<long, passage> passages;
    std::map<channel_id, std::vector<const record*>> operations;
    std::map<channel_id, std::vector<change>> closes;
    std::map<channel_id, std::vector<change>> changes;
    for (const auto& each : logs_) {
        for (const record& r : each->records_) {
            operations[r.channel].push_back(&r);
            for (std::size_t i = 0; r.what == act::sends && i != r.items.size(); ++i) {
                const passage mine{r.items[i], &r, i};
                passage& last = passages.try_emplace(r.items[i], mine).first->second;
                if (last.sent != &r && last.has_failed() && last.sent->ended < r.begun) {
                    last = mine;
                } else if (last.sent != &r || last.sent_as != i) {
                    found.report("recorded", r.items[i], " was sent twice");
                }
            }
        }
        for (const change& c : each->closes_) {
            closes[c.channel].push_back(c);
        }
        for (const change& c : each->limits_) {
            changes[c.channel].push_back(c);
        }
    }
    for (const auto& [id, all] : operations) {
        for (const record* r : all) {
            for (std::size_t i = 0; r->what != act::sends && i != r->items.size(); ++i) {
                const auto there = passages.find(r->items[i]);
                if (there == passages.end()) {
                    found.report("received", r->items[i], " was never sent, of ", *r);
                    continue;
                }
                passage& p = there->second;
                if (p.got != nullptr) {
                    found.report("once", p.item, " was received by ", *p.got, " and by ", *r);
                    continue;
                }
                if (p.sent->channel != id || r->ended < p.sent->begun || p.has_failed()) {
                    found.report("received", p.item, " cannot have been received by ", *r, " from ",
                                 *p.sent);
                    continue;
                }
                p.got = r;
                p.got_as = i;
            }
        }
    }
    std::map<channel_id, std::vector<passage>> by_channel;
    for (const auto& [item, each] : passages) {
        by_channel[each.sent->channel].push_back(each);
    }
    for (const channel& c : channels_) {
        channel_checker(found, std::move(operations[c.id]), std::move(by_channel[c.id]),
                        closes[c.id], limits(c.limit, std::move(changes[c.id])), c.weigh)
            .check();
    }
    return found.text();
}

} // namespace tryst::test
