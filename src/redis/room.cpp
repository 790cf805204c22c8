// SPDX-License-Identifier: MIT
#include "room.hpp"

#include "hub.hpp"

#include <algorithm>
#include <exception>
#include <sstream>
#include <utility>

TRYST_REDIS_BEGIN
namespace detail {

namespace {

// How long a turn lasts: one turn of the loop, and the longer the more turns in succession saw
// parties meet in the local place.
constexpr std::chrono::microseconds shortest_pause(16);
constexpr std::chrono::microseconds longest_pause(1024);
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

/// A key can contain any bytes, but the braces decide about its slot in a cluster.
std::string escaped(std::string_view name) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string result;
    for (const char each : name) {
        const auto byte = static_cast<unsigned char>(each);
        if (each == '{' || each == '}' || each == '%' || byte < 0x20 || byte == 0x7f) {
            result += '%';
            result += digits[byte >> 4U];
            result += digits[byte & 15U];
        } else {
            result += each;
        }
    }
    return result;
}

/// The text of the exception that is being handled.
std::string present_exception() {
    try {
        throw;
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "an exception of an unknown type";
    }
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

remote_room::remote_room(std::shared_ptr<hub> with, room_kind kind, std::string_view name,
                         std::shared_ptr<local_place> place)
    : hub_(std::move(with)), place_(std::move(place)), sides_(kind == room_kind::exchange ? 1 : 2),
      name_(escaped(name)), key_(hub_->prefix() + static_cast<char>(kind) + ":{" + name_ + '}'),
      number_(hub_->new_room_number()), member_id_(hub_->process() + '.' + std::to_string(number_)),
      turn_timer_(hub_->strand()) {}

remote_room::~remote_room() = default;

// ---- From any thread. If there is no memory for the way to the strand, they call std::terminate,
// because a party that the room forgets would never end.
// NOLINTBEGIN(bugprone-exception-escape)

void remote_room::schedule_turn() noexcept {
    net::post(hub_->strand(), [self = shared_from_this()] { self->turn(); });
}

void remote_room::try_remotely(std::shared_ptr<party> who, std::size_t side) noexcept {
    net::post(hub_->strand(), [self = shared_from_this(), who = std::move(who), side]() mutable {
        if (self->closed_ || self->shut_down_) {
            who->fail(self->closed_ ? exchange_errc::closed : exchange_errc::unavailable);
            return;
        }
        self->add(std::move(who), side, false);
        self->pump();
    });
}

void remote_room::withdraw(std::shared_ptr<party> who, exchange_errc why) noexcept {
    net::post(hub_->strand(), [self = shared_from_this(), who = std::move(who), why] {
        self->must_end(who->number, why);
    });
}

void remote_room::close() noexcept {
    net::post(hub_->strand(), [self = shared_from_this()] {
        if (!self->shut_down_) {
            self->close_ = announcement::due;
            self->on_closed();
            self->join();
            self->pump();
        }
    });
}

void remote_room::leave() noexcept {
    net::post(hub_->strand(), [self = shared_from_this()] {
        self->left_ = true;
        self->end_all();
        self->leave_if_done();
    });
}

// NOLINTEND(bugprone-exception-escape)

/// The reply to the verb `count`: four numbers.
struct statistics_codec {
    static room_statistics decode(std::string_view text) {
        room_statistics found;
        std::istringstream in{std::string(text)};
        in >> found.waiting >> found.waiting_blue >> found.processes >> found.exchanges;
        return found;
    }
};

task<remote_result<room_statistics, void>> remote_room::count() {
    const auto mine = std::make_shared<party_of<void, void, room_statistics, statistics_codec>>();
    mine->bring({});
    net::post(hub_->strand(), [self = shared_from_this(), mine] {
        if (self->shut_down_) {
            mine->fail(exchange_errc::unavailable, self->hub_->last_error());
            return;
        }
        self->counts_.push_back(mine);
        self->pump();
    });
    auto completion = mine->completion();
    [[maybe_unused]] const auto ended = co_await completion;
    co_return mine->take();
}

// ---- Parties

void remote_room::turn() {
    if (pause_ == pause_.zero()) {
        end_turn();
        return;
    }
    turn_timer_.expires_after(pause_);
    // Also after a shutdown, which cancels the timer: turns end when no party is left.
    turn_timer_.async_wait([self = shared_from_this()](const error_code&) { self->end_turn(); });
}

/// While parties meet in the local place, they are left alone, up to the longest pause.
void remote_room::end_turn() {
    const std::uint32_t met = arriving.departures() - taken_;
    const bool has_met = static_cast<std::int32_t>(met - met_) > 0;
    met_ = has_met ? met : met_;
    const std::uint32_t taken_before = taken_;
    if (shut_down_) {
        refuse_all(in_room(hub_->last_error()));
    } else if (!has_met || pause_ == longest_pause) {
        take_parties();
        pump();
    }
    // Perhaps a party is about to wait, or has met but not resumed yet. (Those that were taken have
    // not left at the next turn.)
    const bool has_taken = taken_ != taken_before;
    if (has_met || (!has_taken && !had_taken_)) {
        pause_ = std::clamp(2 * pause_, shortest_pause, longest_pause);
    } else if (has_taken) {
        pause_ = pause_ > shortest_pause ? pause_ / 2 : pause_.zero();
    }
    had_taken_ = has_taken;
    if (arriving.repeat()) {
        schedule_turn();
    }
}

void remote_room::take_parties() {
    for (std::size_t side = 0; side != sides_; ++side) {
        while (auto who = place_->take(side, shared_from_this())) {
            add(std::move(who), side, true);
            ++taken_;
        }
    }
}

void remote_room::add(std::shared_ptr<party> who, std::size_t side, bool waits) {
    who->number = ++last_number_;
    const auto [each, is_new] = offers_.emplace(
        last_number_,
        offer{.who = std::move(who), .side = side, .waits = waits, .token = hub_->random_id()});
    numbers_of(each->second).insert(each->first);
}

/// Does what can be done now.
void remote_room::pump() {
    match_at_home();
    if (hub_->link().ready()) {
        recall();
        send_out();
        send_counts();
        announce_close();
    } else if (!hub_->is_hopeful()) {
        refuse_all(in_room(hub_->last_error()));
    }
    leave_if_done();
}

void remote_room::match_at_home() {
    auto& first = numbers(where::home, 0);
    auto& second = numbers(where::home, sides_ - 1);
    while (!first.empty() && !second.empty() && (sides_ == 2 || first.size() != 1)) {
        const auto one = remove(offers_.find(*first.begin()));
        const auto other = remove(offers_.find(*second.begin()));
        one->swap_items(*other);
        one->succeed();
        other->succeed();
    }
}

/// Withdraws offers for which a partner has come home.
void remote_room::recall() {
    for (std::size_t side = 0; side != sides_; ++side) {
        const std::size_t other = opposite(side);
        auto& abroad = numbers(where::abroad, other);
        while (numbers(where::leaving, other).size() < numbers(where::home, side).size() &&
               !abroad.empty()) {
            send_withdrawal(*abroad.begin());
        }
    }
}

void remote_room::send_out() {
    const bool wanted = !counts_.empty() || std::ranges::any_of(numbers_[0], [](const auto& each) {
        return !each.empty();
    });
    if (!wanted) {
        return;
    }
    if (member_ != membership::joined) {
        join();
        return;
    }
    for (std::size_t side = 0; side != sides_; ++side) {
        auto& home = numbers(where::home, side);
        const std::size_t other = opposite(side);
        while (!home.empty() && numbers(where::abroad, other).empty() &&
               numbers(where::leaving, other).empty()) {
            arrive(*home.begin());
        }
    }
    auto& unsent = numbers(where::home, tries);
    while (!unsent.empty()) {
        arrive(*unsent.begin());
    }
}

// ---- Requests

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
    hub_->link().call({&key_, 1}, all, handler,
                      joins ? client::when_moved::follow : client::when_moved::stay);
    return ++last_request_;
}

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
    if (!any_sent()) {
        become_joined();
    } else {
        member_ = membership::comparing;
        doubtful_ = compared_ != generation_ + birth_;
        std::vector<question> questions;
        ask(questions, true);
        hub_->send(std::move(questions));
    }
    if (text_at(got.value, 3) == "1") {
        on_closed();
    }
}

void remote_room::become_joined() {
    member_ = membership::joined;
    compared_ = generation_ + birth_;
    doubting_ = false;
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

void remote_room::look(std::vector<question>& into) {
    if (shut_down_) {
        return;
    }
    if (close_ == announcement::refused) {
        close_ = announcement::due;
    }
    if (member_ == membership::joined) {
        if (has_work()) {
            ask(into, false);
            withdraw_ghosts();
        }
    } else if (any_sent() || close_ != announcement::none || !ghosts_.empty()) {
        join();
    }
    pump();
}

/// Renews the lease, and asks for the state of each offer that was sent, because a message about
/// its match may have been lost.
void remote_room::ask(std::vector<question>& into, bool comparing) {
    std::vector<std::uint64_t> sent;
    for (const auto& [number, each] : offers_) {
        if (each.at != where::home) {
            sent.push_back(number);
        }
    }
    const std::string low = std::to_string(lowest());
    const std::string high = reserve();
    auto next = sent.begin();
    do {
        std::vector<std::uint64_t> part;
        while (next != sent.end() && part.size() != largest_question) {
            part.push_back(*next++);
        }
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
    const bool doubtful = what.comparing && doubtful_;
    std::vector<std::uint64_t> matched;
    for (std::size_t i = 0; i != std::min(what.numbers.size(), states.size()); ++i) {
        const std::uint64_t number = what.numbers[i];
        const offer* const each = find(number);
        if (each == nullptr || each->request > what.request) {
            continue; // complete, or sent again, since
        }
        if (states[i] == 'm') {
            matched.push_back(number);
        } else if (states[i] == '?') {
            if (each->at != where::home && !each->arriving) {
                absent(number, doubtful);
            }
        } else if (each->at == where::leaving) {
            send_withdrawal(number);
        }
    }
    if (!matched.empty()) {
        collect(std::move(matched));
    }
}

void remote_room::arrive(std::uint64_t number) {
    const options& limits = hub_->chosen();
    offer& each = offers_.at(number);
    std::string item;
    try {
        item = each.who->encode();
    } catch (...) {
        complete(number, exchange_errc::unavailable,
                 in_room("the item cannot be encoded: " + present_exception()));
        return;
    }
    if (item.size() > limits.max_item) {
        complete(number, exchange_errc::unavailable,
                 in_room("the item has " + std::to_string(item.size()) +
                         " bytes, and options::max_item is " + std::to_string(limits.max_item)));
        return;
    }
    // Otherwise the server would not match it, or might keep its result for too long.
    if (number > reserved_ || std::chrono::steady_clock::now() > leased_at_ + limits.lease / 2) {
        std::vector<question> questions;
        ask(questions, false);
        hub_->send(std::move(questions));
    }
    each.arriving = true;
    move(offers_.find(number), where::abroad);
    std::vector<std::string> words{std::to_string(number),
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
        [number](remote_room& self, const call_reply& got) { self.arrived(got, number); },
        std::move(acknowledged));
}

void remote_room::arrived(const call_reply& got, std::uint64_t number) {
    if (const auto found = ghosts_.find(number); found != ghosts_.end()) {
        found->second.arriving = false;
        withdraw_ghosts();
    }
    offer* const each = find(number);
    if (each == nullptr) {
        return;
    }
    each->arriving = false;
    if (got.what == call_reply::kind::lost) {
        return; // the room asks when it is connected again
    }
    if (is_current(got)) {
        if (says(got.value, "matched")) {
            finish(number, text_at(got.value, 1));
        } else if (says(got.value, "no_partner")) {
            complete(number, exchange_errc::no_partner);
        } else if (says(got.value, "closed")) {
            complete(number, exchange_errc::closed);
            on_closed();
        } else if (says(got.value, "too_large")) {
            complete(number, exchange_errc::unavailable,
                     in_room("the partner's item has " + std::string(text_at(got.value, 1)) +
                             " bytes, and options::max_item is " +
                             std::to_string(hub_->chosen().max_item) + " here and " +
                             std::string(text_at(got.value, 2)) + " there"));
        } else if (says(got.value, "again")) {
            absent(number, false);
        } else if (!each->waits) {
            doubt(number, in_room("Redis did not answer as the script does"));
        } else if (each->at == where::leaving) {
            send_withdrawal(number);
        }
        return;
    }
    // The script has not run.
    if (got.what == call_reply::kind::refused && each->ending == exchange_errc{} &&
        !says_no_master(got.error)) {
        complete(number, exchange_errc::unavailable, in_room(got.error));
        return;
    }
    absent(number, false);
}

/// Moves the offer to those that leave. The withdrawal may be sent later.
void remote_room::send_withdrawal(std::uint64_t number) {
    const auto found = offers_.find(number);
    offer& each = found->second;
    if (each.at == where::abroad) {
        move(found, where::leaving);
    }
    if (member_ != membership::joined || each.arriving || each.withdrawn == hub_->link().epoch()) {
        return;
    }
    each.withdrawn = hub_->link().epoch();
    call("withdraw", {std::to_string(number)},
         [number, request = last_request_ + 1](remote_room& self, const call_reply& got) {
             offer* const left = self.find(number);
             if (left == nullptr || left->request > request) {
                 return; // complete, or sent again, since
             }
             if (!self.is_current(got)) {
                 left->withdrawn = 0; // again with the next renewal, or after the next join
             } else if (says(got.value, "matched")) {
                 self.finish(number, text_at(got.value, 1));
             } else {
                 self.absent(number, false);
             }
         });
}

void remote_room::collect(std::vector<std::uint64_t> numbers) {
    std::erase_if(numbers, [this](std::uint64_t number) {
        offer* const each = find(number);
        return each == nullptr || std::exchange(each->collecting, true);
    });
    if (numbers.empty()) {
        return;
    }
    std::vector<std::string> rest;
    rest.reserve(numbers.size());
    for (const std::uint64_t number : numbers) {
        if (rest.size() == largest_question) {
            break; // the others when these are here
        }
        rest.push_back(std::to_string(number));
    }
    call("collect", std::move(rest),
         [numbers = std::move(numbers)](remote_room& self, const call_reply& got) {
             for (const std::uint64_t number : numbers) {
                 if (offer* const each = self.find(number)) {
                     each->collecting = false;
                 }
             }
             if (!self.is_current(got)) {
                 return; // asked again after the next join
             }
             const std::size_t count = std::min(numbers.size() + 1, got.value->elements.size());
             for (std::size_t i = 1; i < count; ++i) {
                 if (const reply& item = got.value->elements[i]; item.type == '$') {
                     self.finish(numbers[i - 1], item.text);
                 }
             }
             if (count > 1) { // those for which the reply would have been too long
                 self.collect(
                     {numbers.begin() + static_cast<std::ptrdiff_t>(count) - 1, numbers.end()});
             }
         });
}

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

// ---- What the client reports

void remote_room::on_ready() {
    if (any_sent() || !ghosts_.empty() || close_ != announcement::none) {
        join();
    }
    pump();
}

void remote_room::on_lost() {
    lose_membership();
}

void remote_room::lose_membership() {
    member_ = membership::none;
    for (auto& [number, each] : ghosts_) {
        each.asked = false; // an arrival that is under way is still answered
    }
    if (any_sent() && !std::exchange(doubting_, true)) {
        hub_->after_a_lease(*this, 0, ++lost_);
    }
}

void remote_room::on_down() {
    pump();
}

void remote_room::on_match(std::uint64_t number, std::string_view rest) {
    const offer* const each = find(number);
    if (each == nullptr || each->at == where::home) {
        return;
    }
    if (rest.empty()) {
        if (member_ == membership::joined) {
            collect({number});
        }
    } else if (const std::string begin = ' ' + each->token + ' '; rest.starts_with(begin)) {
        finish(number, rest.substr(begin.size()));
    }
    pump();
}

void remote_room::on_closed() {
    if (closed_) {
        return;
    }
    closed_ = true;
    place_->close();
    end_all();
    pump();
}

/// Ends what is at home with `closed`, and withdraws what is abroad.
void remote_room::end_all() {
    take_parties(); // those that were on their way out of the place when it was closed
    for (std::size_t side = 0; side != sides_; ++side) {
        while (!numbers(where::home, side).empty()) {
            complete(*numbers(where::home, side).begin(), exchange_errc::closed);
        }
        while (!numbers(where::abroad, side).empty()) {
            must_end(*numbers(where::abroad, side).begin(), exchange_errc::closed);
        }
    }
}

void remote_room::shut_down(const std::string& reason) {
    shut_down_ = true;
    const std::string text = in_room(reason);
    doubt_all(text);
    refuse_all(text);
    turn_timer_.cancel(); // its handler ends the turns
}

// ---- How offers end

/// The offer's limit has been reached. It ends within a lease.
void remote_room::must_end(std::uint64_t number, exchange_errc why) {
    const auto found = offers_.find(number);
    if (found == offers_.end()) {
        return; // complete by now
    }
    offer& each = found->second;
    if (each.at == where::home) {
        complete(number, why);
        return;
    }
    if (std::exchange(each.ending, why) == exchange_errc{}) {
        each.due = hub_->after_a_lease(*this, number);
    }
    if (each.waits) { // A try ends with its reply.
        send_withdrawal(number);
    }
}

void remote_room::overdue(std::uint64_t number, std::uint64_t stamp) {
    if (shut_down_) {
        return;
    }
    if (number != 0) {
        if (find(number) != nullptr) {
            doubt(number, in_room("Redis did not withdraw the offer within one lease"));
        }
    } else if (doubting_ && stamp == lost_) {
        doubt_all(in_room("no connection for one lease: " + hub_->last_error()));
    }
    pump();
}

/// A partner's item has come. Its copy in Redis can go.
void remote_room::finish(std::uint64_t number, std::string_view item) {
    const auto found = offers_.find(number);
    if (found == offers_.end()) {
        return;
    }
    acknowledgements_.insert(number);
    const auto who = remove(found);
    try {
        who->decode(item);
    } catch (...) {
        who->fail(exchange_errc::in_doubt,
                  in_room("the partner has the item, but the partner's item cannot be decoded: " +
                          present_exception()));
        return;
    }
    who->succeed();
}

/// Redis does not know the offer.
void remote_room::absent(std::uint64_t number, bool doubtful) {
    const auto found = offers_.find(number);
    offer& each = found->second;
    if (doubtful) {
        complete(number, exchange_errc::in_doubt,
                 in_room("the server has been replaced or restarted, or has lost its data"));
        return;
    }
    each.withdrawn = 0;
    if (each.ending != exchange_errc{}) {
        complete(number, each.ending);
    } else if (closed_ || left_) {
        complete(number, exchange_errc::closed);
    } else {
        move(found, where::home);
    }
}

void remote_room::complete(std::uint64_t number, exchange_errc why, std::string reason) {
    remove(offers_.find(number))->fail(why, std::move(reason));
}

void remote_room::doubt(std::uint64_t number, const std::string& reason) {
    ghosts_[number].arriving = offers_.at(number).arriving;
    complete(number, exchange_errc::in_doubt, reason);
}

/// Ends what has not been sent, and all questions.
void remote_room::refuse_all(const std::string& reason) {
    take_parties();
    match_at_home();
    const auto why = closed_ || left_ ? exchange_errc::closed : exchange_errc::unavailable;
    for (auto& row : numbers_[0]) {
        while (!row.empty()) {
            complete(*row.begin(), why, reason);
        }
    }
    for (const auto& each : std::exchange(counts_, {})) {
        each->fail(exchange_errc::unavailable, reason);
    }
}

void remote_room::doubt_all(const std::string& reason) {
    doubting_ = false;
    for (std::size_t at = 1; at != numbers_.size(); ++at) {
        for (auto& row : numbers_[at]) {
            while (!row.empty()) {
                doubt(*row.begin(), reason);
            }
        }
    }
}

void remote_room::move(offers::iterator each, where to) {
    numbers_of(each->second).erase(each->first);
    each->second.at = to;
    numbers_of(each->second).insert(each->first);
}

std::shared_ptr<party> remote_room::remove(offers::iterator each) {
    auto who = std::move(each->second.who);
    if (each->second.due != never) {
        hub_->forget(*this, each->first, each->second.due);
    }
    numbers_of(each->second).erase(each->first);
    offers_.erase(each);
    return who;
}

remote_room::offer* remote_room::find(std::uint64_t number) {
    const auto found = offers_.find(number);
    return found == offers_.end() ? nullptr : &found->second;
}

bool remote_room::any_sent() const {
    return std::any_of(numbers_.begin() + 1, numbers_.end(), [](const auto& at) {
        return std::ranges::any_of(at, [](const auto& row) { return !row.empty(); });
    });
}

bool remote_room::has_work() const {
    return !offers_.empty() || !acknowledgements_.empty() || !ghosts_.empty() ||
           close_ != announcement::none;
}

/// From now on, there are offers with numbers up to the returned one, in a lease that begins now.
std::string remote_room::reserve() {
    reserved_ = last_number_ + reservation;
    leased_at_ = std::chrono::steady_clock::now();
    return std::to_string(reserved_);
}

/// All numbers that Redis may know a result of are at least this one.
std::uint64_t remote_room::lowest() const {
    std::uint64_t low = last_number_ + 1;
    low = offers_.empty() ? low : std::min(low, offers_.begin()->first);
    low = acknowledgements_.empty() ? low : std::min(low, *acknowledgements_.begin());
    return ghosts_.empty() ? low : std::min(low, ghosts_.begin()->first);
}

std::string remote_room::in_room(std::string_view what) const {
    return "tryst: room \"" + name_ + "\": " + std::string(what);
}

void remote_room::leave_if_done() {
    if (!left_ || !offers_.empty() || !counts_.empty() || counting_ != 0 ||
        close_ != announcement::none) {
        return;
    }
    // Otherwise the record must stay, for those who remove what its member has left.
    if (member_ == membership::joined && ghosts_.empty()) {
        member_ = membership::none;
        call("leave", {joined_text(acknowledgements_)}, [](remote_room&, const call_reply&) {});
    }
    shut_down_ = true;
    turn_timer_.cancel();
    hub_->remove(*this);
}

} // namespace detail
TRYST_REDIS_END
