// SPDX-License-Identifier: MIT
// The scenes of scenes.txt that use a wait list of two colours without the protocol above it: a
// claimed waiter is not completed. And the list of segments alone.
#include "model/scenes.hpp"

#include <tryst/detail/meet/dual_queue.hpp>
#include <tryst/detail/meet/dual_stack.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tryst::model {

namespace {

using detail::colour;
using detail::match_result;
using enum colour;

// ---- The scene as its text says. Nothing here is in the model's memory, so that checks may look
// at what a party does without being ordered after it.

enum class fate : std::uint8_t { none, waits, met, gone, closed, nobody, no_memory };

/// Marks: q withdraws at once; - as well, and meets nobody; t tries, and offers nothing; x destroys
/// the wait list after its arrival; ! must meet.
struct record : party_marks {
    colour side = none;
    std::size_t must_meet_this = nobody;

    fate end = fate::none;
    std::size_t mate = nobody;

    static constexpr std::size_t nobody = 99;
};
std::array<record, 28> records;
std::size_t count = 0;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// The number at the front of `text`, which loses it.
unsigned take_number(std::string_view& text) {
    unsigned number = 0;
    for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
        number = 10 * number + static_cast<unsigned>(text.front() - '0');
    }
    return number;
}

/// Reads `rq2bt!`.
void read_parties(std::string_view word) {
    record made;
    for (std::size_t first = count; !word.empty();) {
        const char mark = word.front();
        if (is_digit(mark)) {
            const std::size_t end = first + take_number(word);
            for (; count != end; ++count) {
                records.at(count) = made;
            }
            continue;
        }
        word.remove_prefix(1);
        if (mark == 'r' || mark == 'b') {
            made = {};
            made.side = mark == 'r' ? red : blue;
            first = count++;
        } else if (mark == '=') {
            made.must_meet_this = take_number(word);
        } else {
            made.add(mark);
        }
        records.at(first) = made;
    }
}

void read() {
    count = 0;
    read_actors(count, [](const actor& each) {
        // Other words begin with two letters that no party has.
        if (each.word.find_first_not_of("rb-qtx!=0123456789") == each.word.npos) {
            read_parties(each.word);
        }
    });
}

/// A wait list, and what the actors do there.
template <class WaitList>
class crowd {
public:
    crowd() : list_(new WaitList) {
        read();
        the_checker().forbid(playing->never);
        the_checker().forbid_twice(playing->once);
        for (std::size_t i = 0; i != count; ++i) {
            join(i);
            if (records[i].has('x')) {
                pins_ = std::make_unique<detail::atomic<std::uint32_t>>(0U);
            }
        }
        for (const actor& each : every_actor()) {
            closers_ += each.word == "close" ? 1U : 0U;
        }
    }
    ~crowd() {
        delete list_;
        for (std::size_t i = 0; i != count; ++i) {
            delete guests_[i];
        }
    }
    crowd(const crowd&) = delete;
    crowd& operator=(const crowd&) = delete;

    /// Runs the threads, and checks what they leave.
    void run() {
        closing_ = closers_ > 1;
        start_actors(*this);
        the_checker().join();
        the_checker().starve(0); // there is memory again
        for (const actor& each : every_actor()) {
            if (each.when == '>') {
                act(each);
            }
        }
        finish();
    }

    void act(const actor& each) {
        std::string_view word = each.word;
        if (word == "close") {
            if (closers_ == 1) {
                closing_ = true;
            }
            close();
        } else if (word == "ask") {
            // A plain access: the close happens-before the answer.
            require(!list_->is_closed() || closing_, "one finds closed what is not");
        } else if (word == "meet") {
            meet_all();
        } else if (word == "enough") {
            the_checker().starve(1'000, true);
        } else if (word.starts_with("leave")) {
            word.remove_prefix(5);
            const unsigned who = take_number(word);
            require(list_->withdraw(*guests_[who], records[who].side), "one does not wait");
            end(*guests_[who], fate::gone);
        } else if (word.starts_with("fail") || word.starts_with("may_fail")) {
            const bool surely = word.front() == 'f';
            word.remove_prefix(surely ? 4 : 8);
            starves_ = true;
            the_checker().starve(take_number(word), surely);
        } else {
            bool closed = false;
            for (std::size_t i = 0; i != each.count; ++i) {
                const bool found_closed = come(each.first + i);
                require(found_closed || !closed, "one finds open what it has found closed");
                closed = found_closed;
            }
            require(each.count != 0, "the scene's text has an unknown word");
        }
    }

private:
    struct guest : detail::waiter {
        std::size_t number = 0;
        std::size_t touched = 0; ///< Plain: whose it is writes it.
    };

    void join(std::size_t who) {
        guests_.at(who) = new guest;
        guests_[who]->number = who;
    }

    /// Whoever waits is met, now.
    void meet_all() {
        for (std::size_t i = 0; i != count; ++i) {
            while (records[i].end == fate::waits) { // perhaps behind another
                const std::size_t partner = count++;
                records.at(partner) = {};
                records[partner].side = opposite(records[i].side);
                join(partner);
                come(partner);
                require(records[partner].end == fate::met, "a party has missed another");
            }
        }
    }

    /// @returns whether the party has found the list closed.
    bool come(std::size_t mine) {
        if (records[mine].has('-')) {
            require(list_->enqueue_or_match(*guests_[mine], records[mine].side).kind ==
                        match_result::offered,
                    "one has met nobody");
            require(list_->withdraw(*guests_[mine], records[mine].side), "nobody has been met");
            records[mine].end = fate::gone;
            return false;
        }
        const bool found_closed = arrive(mine, records[mine].side);
        if (records[mine].has('x')) {
            destroy_after(mine);
        }
        return found_closed;
    }

    /// A party destroys the wait list after its arrival, although a withdrawal may be under way
    /// (I5).
    void destroy_after(std::size_t mine) {
        if (begun_.listen() != 1) {
            return;
        }
        close();
        for (std::size_t i = 0; i != count; ++i) {
            if (i != mine && records[i].end != fate::none && records[i].end != fate::gone) {
                return; // claimed: its withdrawal fails, which the protocol waits for
            }
        }
        while (!WaitList::withdraws_in_one_step && pins_->load(std::memory_order_acquire) != 0) {
            the_checker().wait_for_change(site::current());
        }
        delete std::exchange(list_, nullptr);
    }

    /// @returns as `come`.
    bool arrive(std::size_t mine, colour own) {
        guest& w = *guests_[mine];
        const bool offers = !records[mine].has('t');
        w.touched = mine;
        while (true) {
            match_result seen{match_result::empty};
            if (!offers || std::is_same_v<WaitList, detail::dual_stack>) {
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
                return false;
            }
            case match_result::closed:
                // A plain access: the close happens-before whoever comes too late.
                require(closing_, "one finds closed what is not");
                require(list_->is_closed(), "one finds closed what the next may find open");
                end(w, fate::closed);
                return true;
            case match_result::offered:
                if (records[mine].has('q') && withdraw(w, own)) {
                    end(w, fate::gone);
                } else if (records[mine].end == fate::none) {
                    records[mine].end = fate::waits;
                }
                return false;
            case match_result::out_of_memory:
                require(starves_, "out of memory");
                end(w, fate::no_memory);
                return false;
            default:
                if (!offers && seen.kind != match_result::collided) {
                    end(w, fate::nobody);
                    return false;
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
        begun_.ring();
        if (WaitList::withdraws_in_one_step) {
            return list_->withdraw(w, own);
        }
        pins_->fetch_add(1, std::memory_order_relaxed);
        const bool out = list_->withdraw(w, own);
        pins_->fetch_sub(1, std::memory_order_release);
        return out;
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

    void finish() {
        std::array<bool, 3> waits{};
        for (std::size_t i = 0; i != count; ++i) {
            waits.at(static_cast<std::size_t>(records[i].side)) |= records[i].end == fate::waits;
        }
        require(!waits[1] || !waits[2], "red and blue wait together");
        if (list_ != nullptr) {
            require(!list_->is_closed() || (!waits[1] && !waits[2]),
                    "one waits, and all is closed");
            close();
        }
        for (std::size_t i = 0; i != count; ++i) {
            const record& its = records[i];
            require(its.end != fate::none && its.end != fate::waits, "a waiter is lost");
            require(its.end == fate::met || !its.has('!'), "a party has missed another");
            require(its.end != fate::met || records[its.mate].mate == i, "a meeting is one-sided");
            require(its.must_meet_this == record::nobody || its.must_meet_this == its.mate,
                    "another was preferred to the first");
        }
    }

    WaitList* list_;
    bell begun_; // a withdrawal
    std::unique_ptr<detail::atomic<std::uint32_t>> pins_; // only if a party destroys the list
    unsigned closers_ = 0;
    bool closing_ = false; ///< Written by the closer, if there is one; by nobody if there are more.
    bool starves_ = false;
    std::array<guest*, records.size()> guests_{};
};

/// The list of segments alone, with one cell in a segment.
class segments {
    using list = detail::segment_list<0>;

public:
    /// There are segments for the tickets before `end`, and both cursors are at `passed`.
    segments(list::ticket end, list::ticket passed) : cursor_(passed << 1U) {
        for (list::ticket t = 1; t != end; ++t) {
            append();
        }
    }

    void run() {
        read();
        start_actors(*this);
        the_checker().join();
        for (const actor& each : every_actor()) {
            if (each.when == '>') {
                act(each);
            }
        }
    }

    /// Does `f0th5`: letters, of which some have a ticket.
    void act(const actor& each) {
        for (std::string_view rest = each.word; !rest.empty();) {
            const char letter = rest.front();
            rest.remove_prefix(1);
            const list::ticket given = take_number(rest);
            switch (letter) {
            case 'a':
                append();
                break;
            case 'm':
                marked_ = last();
                break;
            case 'b':
                list_.append(marked_);
                break;
            case 'f':
                finish(given);
                break;
            case 'e':
                for (list::ticket t = 0; t != given; ++t) {
                    if (list_.find(t, from_).first == t) {
                        finish(t);
                    }
                }
                break;
            case 'c':
                cell_of(given).store(list::cancelled_cell, std::memory_order_release);
                break;
            case 't':
                list_.tidy(cursor_);
                break;
            case 'p':
                cursor_.store(given << 1U, std::memory_order_relaxed);
                break;
            case 'h':
                static_cast<void>(cell_of(given));
                break;
            case 's':
                the_checker().starve(1'000, true);
                break;
            default:
                the_checker().fail("the scene's text has an unknown letter");
            }
        }
    }

private:
    void append() {
        const auto at = last();
        list_.append(at);
        list_.advance(from_, at, 1);
    }
    list::place last() { return list_.find(list::ticket{1} << 40U, from_); }
    void finish(list::ticket t) {
        cell_of(t).store(list::finished_cell, std::memory_order_release);
    }
    detail::atomic<list::word>& cell_of(list::ticket t) {
        const auto at = list_.find(t, from_);
        require(at.first == t, "a segment is lost");
        return list_.cell(at.n, t);
    }

    list list_;
    list::front from_{list_.first()};
    detail::atomic<std::uint64_t> cursor_;
    list::place marked_{};
};

} // namespace

// One cell in a segment, or two: every arrival, or every other, comes to a boundary.
void play_wait_list() {
    if (playing->venue == "queue") {
        crowd<detail::basic_dual_queue<0>>().run();
    } else if (playing->venue == "queue2") {
        crowd<detail::basic_dual_queue<1>>().run();
    } else if (playing->venue == "stack") {
        crowd<detail::dual_stack>().run();
    } else { // list8/6
        std::string_view numbers = playing->venue.substr(4);
        const unsigned end = take_number(numbers);
        numbers.remove_prefix(1);
        segments(end, take_number(numbers)).run();
    }
}

} // namespace tryst::model
