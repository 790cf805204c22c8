// SPDX-License-Identifier: MIT
// The requests of a room, and what happens on their replies.
#include "room.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

TRYST_REDIS_BEGIN
namespace detail {

namespace {

/// How many numbers a room reserves. The script looks for results of all of them when it removes a
/// member.
constexpr std::uint64_t reservation = 50;

/// An element of the script's reply; its first element is the verdict.
std::string_view text_at(const reply* whole, std::size_t index) {
    return whole != nullptr && index < whole->elements.size() ? whole->elements[index].text
                                                              : std::string_view();
}

bool says(const reply* whole, std::string_view verdict) {
    return text_at(whole, 0) == verdict;
}

template <class Numbers>
std::string joined_text(const Numbers& numbers) {
    std::string text;
    for (const std::uint64_t each : numbers) {
        text += std::to_string(each) + ' ';
    }
    return text;
}

} // namespace

/// @param acknowledged  the numbers that `rest` acknowledges.
/// @returns the number of the request.
template <class Then>
std::uint64_t remote_room::call(std::string_view verb, std::vector<std::string> rest, Then then,
                                std::set<std::uint64_t> acknowledged) {
    const bool joins = verb == "join";
    const std::string epoch = std::to_string(hub_->link().epoch());
    std::vector<std::string_view> all{verb, epoch, member_id_};
    if (!joins) {
        all.push_back(generation_);
    }
    all.insert(all.end(), rest.begin(), rest.end());
    const auto handler = [self = shared_from_this(), acknowledged = std::move(acknowledged),
                          then = std::move(then)](const call_reply& got) {
        if (self->shut_down_) {
            return;
        }
        if (got.what != call_reply::kind::answered || says(got.value, "rejoin")) {
            self->acknowledgements_.insert(acknowledged.begin(), acknowledged.end());
        }
        then(*self, got);
        self->pump();
    };
    hub_->link().call({&key(), 1}, all, handler,
                      joins ? client::when_moved::follow : client::when_moved::stay);
    return ++last_request_;
}

// ---- Membership

/// Whether the script has done what was asked. If it has not, the room joins again.
bool remote_room::is_current(const call_reply& got) {
    const bool answered = got.what == call_reply::kind::answered;
    // In a cluster, another node serves the room: it may lack what the last one wrote.
    const bool moved = got.what == call_reply::kind::unsent && hub_->link().ready();
    if (moved || (answered && says(got.value, "rejoin"))) {
        return rejoin();
    }
    return answered;
}

/// @returns false.
bool remote_room::rejoin() {
    if (member_ != membership::joining) {
        lose_membership();
        join();
    }
    return false;
}

void remote_room::join() {
    if (member_ != membership::none || !hub_->link().ready()) {
        return;
    }
    member_ = membership::joining;
    call("join",
         {std::to_string(hub_->chosen().lease.count()), hub_->random_id(), hub_->prefix(),
          std::to_string(lowest()), reserve()},
         [](remote_room& self, const call_reply& got) { self.joined(got); });
}

void remote_room::joined(const call_reply& got) {
    const bool answered = got.what == call_reply::kind::answered;
    if (!answered || !says(got.value, "joined")) {
        member_ = membership::none; // tries again after a third of a lease
        if (got.what == call_reply::kind::refused && !says_no_master(got.error)) {
            refuse_all(in_room(got.error));
        } else if (answered) {
            refuse_all(in_room("Redis knows a later connection of this process"));
        }
        return;
    }
    generation_ = text_at(got.value, 1);
    birth_ = text_at(got.value, 2);
    joined_at_ = last_request_;
    withdraw_ghosts();
    if (offers_.any_sent() == nullptr) {
        become_joined();
    } else {
        member_ = membership::comparing;
        doubtful_ = compared_ != generation_ + birth_;
        ask_now(true);
    }
    if (text_at(got.value, 3) == "1") {
        on_closed();
    }
}

void remote_room::become_joined() {
    member_ = membership::joined;
    compared_ = generation_ + birth_;
    doubt_timer_.reset();
}

void remote_room::send_leave() {
    member_ = membership::none;
    call("leave", {joined_text(acknowledgements_)}, [](remote_room&, const call_reply&) {});
}

/// From now on, there are offers with numbers up to the returned one, in a lease that begins now.
std::string remote_room::reserve() {
    reserved_ = offers_.last_number() + reservation;
    leased_at_ = clock::now();
    return std::to_string(reserved_);
}

/// All numbers that Redis may know a result of are at least this one.
std::uint64_t remote_room::lowest() const {
    std::uint64_t low = offers_.lowest();
    low = acknowledgements_.empty() ? low : std::min(low, *acknowledgements_.begin());
    return ghosts_.empty() ? low : std::min(low, ghosts_.begin()->first);
}

// ---- Renewals

/// Renews the lease, and asks for the state of each offer that was sent, because a message about
/// its match may have been lost.
void remote_room::ask(std::vector<question>& into, bool comparing) {
    const std::vector<std::uint64_t> sent = offers_.sent();
    const std::string low = std::to_string(lowest());
    const std::string high = reserve();
    auto next = sent.begin();
    do {
        const auto size = std::min<std::ptrdiff_t>(sent.end() - next, largest_question);
        std::vector<std::uint64_t> part(next, next + size);
        next += size;
        auto acknowledged = some_acknowledgements();
        into.push_back({.room = shared_from_this(),
                        .words = {member_id_, generation_, joined_text(acknowledged), low, high,
                                  joined_text(part)},
                        .numbers = std::move(part),
                        .acknowledged = std::move(acknowledged),
                        .request = ++last_request_,
                        .comparing = comparing,
                        .last = next == sent.end() && acknowledgements_.empty()});
    } while (!into.back().last);
}

void remote_room::ask_now(bool comparing) {
    std::vector<question> questions;
    ask(questions, comparing);
    hub_->send(std::move(questions));
}

/// Takes as many as one request acknowledges.
std::set<std::uint64_t> remote_room::some_acknowledgements() {
    std::set<std::uint64_t> some;
    while (!acknowledgements_.empty() && some.size() != largest_question) {
        some.insert(acknowledgements_.extract(acknowledgements_.begin()));
    }
    return some;
}

void remote_room::answered(const question& what, const call_reply& whole, const reply* mine) {
    const bool is_current_here = mine != nullptr && !says(mine, "rejoin");
    if (!is_current_here) {
        acknowledgements_.insert(what.acknowledged.begin(), what.acknowledged.end());
        reserved_ = 0; // the next arrival renews the lease
    }
    if (shut_down_ || what.request <= joined_at_) {
        return; // of an earlier membership
    }
    if (is_current_here) {
        // An earlier part may have been refused.
        if (what.comparing && what.last && member_ == membership::comparing) {
            become_joined();
        }
        if (text_at(mine, 0) == "1") {
            on_closed();
        }
        apply_states(what, text_at(mine, 1));
    } else if (mine != nullptr) {
        rejoin();
    } else if (!is_current(whole) && what.comparing && whole.what == call_reply::kind::refused) {
        member_ = membership::none; // tries again
        refuse_all(in_room(whole.error));
    }
    pump();
}

void remote_room::apply_states(const question& what, std::string_view states) {
    std::vector<std::uint64_t> matched;
    for (std::size_t i = 0; i != std::min(what.numbers.size(), states.size()); ++i) {
        offer* const each = offers_.find(what.numbers[i], what.request);
        if (each == nullptr) {
            continue;
        }
        if (states[i] == 'm') {
            matched.push_back(each->number);
        } else if (states[i] == '?') {
            if (each->at != where::home && !each->arriving) {
                absent(*each, what.comparing && doubtful_);
            }
        } else if (each->at == where::leaving) {
            send_withdrawal(*each);
        }
    }
    collect(std::move(matched));
}

// ---- Offers

void remote_room::arrive(offer& each) {
    const options& limits = hub_->chosen();
    std::string item;
    try {
        item = each.who->encode();
    } catch (...) {
        complete(each, exchange_errc::unavailable,
                 in_room("the item cannot be encoded: " + present_exception()));
        return;
    }
    if (item.size() > limits.max_item) {
        complete(each, exchange_errc::unavailable,
                 in_room("the item has " + std::to_string(item.size()) +
                         " bytes, and options::max_item is " + std::to_string(limits.max_item)));
        return;
    }
    // Otherwise the server would not match it, or might keep its result for too long.
    if (each.number > reserved_ || clock::now() > leased_at_ + limits.lease / 2) {
        ask_now(false);
    }
    each.arriving = true;
    offers_.move(each, where::abroad);
    std::vector<std::string> words{std::to_string(each.number),
                                   std::to_string(each.side + 1),
                                   std::to_string(opposite(each.side) + 1),
                                   each.waits ? "1" : "0",
                                   each.token,
                                   std::move(item),
                                   std::to_string(limits.max_item),
                                   std::to_string(limits.published_item),
                                   hub_->prefix()};
    auto acknowledged = some_acknowledgements();
    for (const std::uint64_t each_result : acknowledged) {
        words.push_back(std::to_string(each_result));
    }
    each.request = call(
        "arrive", std::move(words),
        [number = each.number](remote_room& self, const call_reply& got) {
            self.arrived(got, number);
        },
        std::move(acknowledged));
}

void remote_room::arrived(const call_reply& got, std::uint64_t number) {
    if (const auto found = ghosts_.find(number); found != ghosts_.end()) {
        found->second.arriving = false;
        withdraw_ghosts();
    }
    offer* const each = offers_.find(number);
    if (each == nullptr) {
        return;
    }
    each->arriving = false;
    if (got.what == call_reply::kind::lost) {
        return; // the room asks when it is connected again
    }
    if (is_current(got)) {
        if (says(got.value, "matched")) {
            finish(*each, text_at(got.value, 1));
        } else if (says(got.value, "no_partner")) {
            complete(*each, exchange_errc::no_partner);
        } else if (says(got.value, "closed")) {
            complete(*each, exchange_errc::closed);
            on_closed();
        } else if (says(got.value, "too_large")) {
            complete(*each, exchange_errc::unavailable,
                     in_room("the partner's item has " + std::string(text_at(got.value, 1)) +
                             " bytes, and options::max_item is " +
                             std::to_string(hub_->chosen().max_item) + " here and " +
                             std::string(text_at(got.value, 2)) + " there"));
        } else if (says(got.value, "again")) {
            absent(*each, false);
        } else if (!each->waits) {
            doubt(*each, in_room("Redis did not answer as the script does"));
        } else if (each->at == where::leaving) {
            send_withdrawal(*each);
        }
        return;
    }
    // The script has not run.
    if (got.what == call_reply::kind::refused && each->ending == exchange_errc{} &&
        !says_no_master(got.error)) {
        complete(*each, exchange_errc::unavailable, in_room(got.error));
        return;
    }
    absent(*each, false);
}

/// Moves the offer to those that leave. The withdrawal may be sent later.
void remote_room::send_withdrawal(offer& each) {
    if (each.at == where::abroad) {
        offers_.move(each, where::leaving);
    }
    if (member_ != membership::joined || each.arriving || each.withdrawn == hub_->link().epoch()) {
        return;
    }
    each.withdrawn = hub_->link().epoch();
    call("withdraw", {std::to_string(each.number)},
         [number = each.number, request = last_request_ + 1](remote_room& self,
                                                             const call_reply& got) {
             offer* const left = self.offers_.find(number, request);
             if (left == nullptr) {
                 return;
             }
             if (!self.is_current(got)) {
                 left->withdrawn = 0; // again with the next renewal, or after the next join
             } else if (says(got.value, "matched")) {
                 self.finish(*left, text_at(got.value, 1));
             } else {
                 self.absent(*left, false);
             }
         });
}

/// Their lease would keep them in the queue.
void remote_room::withdraw_ghosts() {
    for (auto& [number, each] : ghosts_) {
        if (each.arriving || std::exchange(each.asked, true)) {
            continue;
        }
        call("withdraw", {std::to_string(number)},
             [withdrawn = number](remote_room& self, const call_reply& got) {
                 if (self.is_current(got)) {
                     self.acknowledgements_.insert(withdrawn);
                     self.ghosts_.erase(withdrawn);
                 } else if (const auto found = self.ghosts_.find(withdrawn);
                            found != self.ghosts_.end()) {
                     found->second.asked = false;
                 }
             });
    }
}

void remote_room::collect(std::vector<std::uint64_t> numbers) {
    std::erase_if(numbers, [this](std::uint64_t number) {
        offer* const each = offers_.find(number);
        return each == nullptr || std::exchange(each->collecting, true);
    });
    if (numbers.empty()) {
        return;
    }
    std::vector<std::string> rest; // the others when these are here
    for (const std::uint64_t number : numbers | std::views::take(largest_question)) {
        rest.push_back(std::to_string(number));
    }
    call("collect", std::move(rest),
         [numbers = std::move(numbers)](remote_room& self, const call_reply& got) {
             for (const std::uint64_t number : numbers) {
                 if (offer* const each = self.offers_.find(number)) {
                     each->collecting = false;
                 }
             }
             if (!self.is_current(got)) {
                 return; // asked again after the next join
             }
             const std::size_t count = std::min(numbers.size() + 1, got.value->elements.size());
             for (std::size_t i = 1; i < count; ++i) {
                 const reply& item = got.value->elements[i];
                 offer* const each = self.offers_.find(numbers[i - 1]);
                 if (item.type == '$' && each != nullptr) {
                     self.finish(*each, item.text);
                 }
             }
             if (count > 1) { // those for which the reply would have been too long
                 self.collect(
                     {numbers.begin() + static_cast<std::ptrdiff_t>(count) - 1, numbers.end()});
             }
         });
}

// ---- Other calls

void remote_room::send_counts() {
    if (member_ != membership::joined) {
        return;
    }
    for (const auto& who : std::exchange(counts_, {})) {
        ++counting_;
        call("count", {}, [who](remote_room& self, const call_reply& got) {
            --self.counting_;
            if (self.is_current(got)) {
                who->decode(text_at(got.value, 1));
                who->succeed();
            } else if (got.what == call_reply::kind::refused) {
                who->fail(exchange_errc::unavailable, self.in_room(got.error));
            } else {
                self.counts_.push_back(who); // asking twice does no harm
            }
        });
    }
}

void remote_room::announce_close() {
    if (close_ != announcement::due || member_ != membership::joined) {
        return;
    }
    close_ = announcement::sent;
    call("close", {hub_->prefix()}, [](remote_room& self, const call_reply& got) {
        if (self.is_current(got)) {
            self.close_ = announcement::none;
        } else if (got.what != call_reply::kind::refused || says_no_master(got.error)) {
            self.close_ = announcement::due;
        } else { // three times in each lease, until the exchanger has gone
            self.close_ = self.left_ ? announcement::none : announcement::refused;
        }
    });
}

} // namespace detail
TRYST_REDIS_END
