// SPDX-License-Identifier: MIT
#include "room.hpp"

#include "hub.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <exception>
#include <span>
#include <sstream>
#include <utility>

TRYST_REDIS_BEGIN
namespace detail {

namespace {

// Larger items are not published but collected, so that they cross the network only once.
constexpr std::size_t largest_published_item = 4096;
// How many offers one request asks about. A request of this size occupies the server for about a
// millisecond.
constexpr std::size_t largest_question = 500;
// How long a turn lasts: one turn of the loop, and the longer the more turns in succession saw
// parties meet in the local place.
constexpr std::chrono::microseconds shortest_pause(16);
constexpr std::chrono::microseconds longest_pause(1024);

std::string_view text_of(const redisReply* reply) {
    if (reply == nullptr || reply->str == nullptr) {
        return {};
    }
    return {reply->str, reply->len};
}

/// The elements of the script's reply; its first element is the verdict.
class answer {
public:
    explicit answer(const call_reply& reply) : reply_(reply.value) {}
    std::size_t size() const { return reply_->type == REDIS_REPLY_ARRAY ? reply_->elements : 0; }
    const redisReply* operator[](std::size_t index) const {
        return index < size() ? reply_->element[index] : nullptr;
    }
    std::string_view text(std::size_t index) const { return text_of((*this)[index]); }
    bool says(std::string_view verdict) const { return text(0) == verdict; }

private:
    const redisReply* reply_;
};

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

/// Whether the client looks for another server after this error.
bool is_about_to_reconnect(std::string_view error) {
    return error.starts_with("READONLY") || error.starts_with("LOADING") ||
           error.starts_with("MASTERDOWN");
}

} // namespace

remote_room::remote_room(std::shared_ptr<hub> with, room_kind kind, std::string_view name,
                         std::shared_ptr<local_place> place)
    : hub_(std::move(with)), place_(std::move(place)), sides_(kind == room_kind::exchange ? 1 : 2),
      name_(escaped(name)), member_id_(hub_->new_member_id()), timer_(hub_->strand()),
      turn_timer_(hub_->strand()) {
    // All in one slot of a cluster.
    const std::string stem =
        hub_->chosen().key_prefix + ':' + static_cast<char>(kind) + ":{" + name_ + '}';
    keys_ = {stem, stem + ":items", stem + ":1", stem + ":2"};
}

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
        self->add(self->tries_, std::move(who), side, false);
        self->pump();
    });
}

void remote_room::withdraw(std::shared_ptr<party> who, exchange_errc why) noexcept {
    net::post(hub_->strand(), [self = shared_from_this(), who = std::move(who), why] {
        const auto found = self->numbered_.find(who->number);
        if (found == self->numbered_.end()) {
            return; // complete by now
        }
        const auto each = found->second;
        each->ending = why;
        if (each->at == where::home && each->arrived == 0) {
            self->complete(each, why);
        } else if (each->waits) {
            self->send_withdrawal(each);
        } // A try ends with its reply.
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
    // Perhaps a party is about to wait, or has met but not resumed yet.
    if (has_met || taken_ == taken_before) {
        pause_ = std::clamp(2 * pause_, shortest_pause, longest_pause);
    } else {
        pause_ = pause_ > shortest_pause ? pause_ / 2 : pause_.zero();
    }
    if (arriving.repeat()) {
        schedule_turn();
    }
}

void remote_room::take_parties() {
    for (std::size_t side = 0; side != sides_; ++side) {
        while (auto who = place_->take(side, shared_from_this())) {
            add(home(side), std::move(who), side, true);
            ++taken_;
        }
    }
}

remote_room::offers::iterator remote_room::add(offers& to, std::shared_ptr<party> who,
                                               std::size_t side, bool waits) {
    const std::uint64_t number = hub_->new_number();
    who->number = number;
    const auto each = to.insert(
        to.end(), {.who = std::move(who), .side = side, .waits = waits, .number = number});
    numbered_.emplace(number, each);
    return each;
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
    schedule_timer();
    leave_if_done();
}

void remote_room::match_at_home() {
    for (;;) {
        offers& first = home(0);
        offers& second = home(sides_ - 1);
        if (first.empty() || second.empty() || (sides_ == 1 && first.size() == 1)) {
            return;
        }
        const auto one = remove(first.begin());
        const auto other = remove(second.begin());
        one->swap_items(*other);
        one->succeed();
        other->succeed();
    }
}

/// Withdraws offers for which a partner has come home.
void remote_room::recall() {
    for (std::size_t side = 0; side != sides_; ++side) {
        const std::size_t other = opposite(side);
        while (leaving(other).size() < home(side).size() && !abroad(other).empty()) {
            send_withdrawal(abroad(other).begin());
        }
    }
}

void remote_room::send_out() {
    const auto unsent = [](const offer& each) { return each.arrived == 0; };
    bool wanted = !counts_.empty() || std::ranges::any_of(tries_, unsent);
    for (std::size_t side = 0; side != sides_; ++side) {
        wanted = wanted || !home(side).empty();
    }
    if (!wanted) {
        return;
    }
    if (member_ != membership::joined) {
        join();
        return;
    }
    for (std::size_t side = 0; side != sides_; ++side) {
        const std::size_t other = opposite(side);
        while (!home(side).empty() && abroad(other).empty() && leaving(other).empty()) {
            arrive(home(side).begin());
        }
    }
    for (auto each = tries_.begin(); each != tries_.end();) {
        const auto next = std::next(each);
        if (each->arrived == 0) {
            arrive(each);
        }
        each = next;
    }
}

// ---- Requests

/// @returns the number of the request.
template <class Then>
std::uint64_t remote_room::call(std::string_view verb, std::vector<std::string> rest, Then then) {
    const bool joins = verb == "join";
    const std::string epoch = std::to_string(hub_->link().epoch());
    const std::string retention = std::to_string(hub_->retention().count());
    // A join acknowledges nothing.
    std::string acknowledged = joins ? std::string() : std::exchange(acknowledgements_, {});
    std::vector<std::string_view> all{verb,        member_id_, epoch,
                                      generation_, retention,  acknowledged};
    all.insert(all.end(), rest.begin(), rest.end());
    const auto handler = [self = shared_from_this(), acknowledged,
                          then = std::move(then)](const call_reply& reply) {
        if (self->shut_down_) {
            return;
        }
        if (reply.what != call_reply::kind::answered || answer(reply).says("rejoin")) {
            self->acknowledgements_ += acknowledged;
        }
        then(*self, reply);
        self->pump();
    };
    hub_->link().call(keys_, all, handler,
                      joins ? client::when_moved::follow : client::when_moved::stay);
    return ++last_request_;
}

/// Whether the script has done what was asked. If it has not, the room joins again.
bool remote_room::is_current(const call_reply& reply) {
    const bool answered = reply.what == call_reply::kind::answered;
    // In a cluster, another node serves the room: it may lack what the last one wrote.
    const bool moved = reply.what == call_reply::kind::unsent && hub_->link().ready();
    if (moved || (answered && answer(reply).says("rejoin"))) {
        if (member_ != membership::joining) {
            lose_membership();
            join();
        }
        return false;
    }
    return answered;
}

void remote_room::join() {
    if (member_ != membership::none || !hub_->link().ready()) {
        return;
    }
    member_ = membership::joining;
    call("join", {std::to_string(hub_->chosen().lease.count()), random_id(), hub_->wake_prefix()},
         [](remote_room& self, const call_reply& reply) { self.joined(reply); });
}

void remote_room::joined(const call_reply& reply) {
    const bool answered = reply.what == call_reply::kind::answered;
    if (!answered || !answer(reply).says("joined")) {
        member_ = membership::none;
        renew_at_ = clock::now() + hub_->chosen().lease / 3; // tries again
        if (reply.what == call_reply::kind::refused && !is_about_to_reconnect(reply.error)) {
            refuse_all(in_room(reply.error));
        } else if (answered) {
            refuse_all(in_room("Redis knows a later connection of this process"));
        }
        return;
    }
    const answer got(reply);
    generation_ = got.text(1);
    birth_ = got.text(2);
    if (got.text(3) == "1") {
        on_closed();
    }
    joined_at_ = last_request_;
    withdraw_ghosts();
    renew_at_ = clock::now() + hub_->chosen().lease / 3;
    if (any_sent()) {
        member_ = membership::comparing;
        renew(true, compared_ != generation_ + birth_);
    } else {
        become_joined();
    }
}

void remote_room::become_joined() {
    member_ = membership::joined;
    compared_ = generation_ + birth_;
    doubt_at_ = clock::time_point::max();
}

/// Their lease would keep them in the queue.
void remote_room::withdraw_ghosts() {
    for (auto& [number, each] : ghosts_) {
        if (std::exchange(each.asked, true)) {
            continue;
        }
        call("withdraw", {std::to_string(number), std::to_string(each.side + 1)},
             [ghost_number = number](remote_room& self, const call_reply& reply) {
                 if (self.is_current(reply)) {
                     self.acknowledgements_ += ' ' + std::to_string(ghost_number);
                     self.ghosts_.erase(ghost_number);
                 } else if (const auto found = self.ghosts_.find(ghost_number);
                            found != self.ghosts_.end()) {
                     found->second.asked = false;
                 }
             });
    }
}

/// Renews the lease, and asks for the state of each offer that was sent, because a message about
/// its match may have been lost.
void remote_room::renew(bool comparing, bool doubtful) {
    std::vector<std::uint64_t> numbers;
    std::vector<std::string> rest;
    const auto ask = [&](bool last) {
        const std::uint64_t request = last_request_ + 1;
        call("renew", std::exchange(rest, {}),
             [numbers = std::exchange(numbers, {}), request, comparing, doubtful,
              last](remote_room& self, const call_reply& reply) {
                 if (request <= self.joined_at_) {
                     return; // of an earlier membership
                 }
                 if (!self.is_current(reply)) {
                     if (comparing && reply.what == call_reply::kind::refused) {
                         self.member_ = membership::none; // tries again
                         self.refuse_all(self.in_room(reply.error));
                     }
                     return;
                 }
                 const answer got(reply);
                 if (comparing && last) {
                     self.become_joined();
                 }
                 if (got.text(1) == "1") {
                     self.on_closed();
                 }
                 self.apply_states(numbers, got.text(2), request, doubtful);
             });
    };
    each_sent([&](offer& each) {
        numbers.push_back(each.number);
        rest.push_back(std::to_string(each.number));
        rest.push_back(std::to_string(each.side + 1));
        if (numbers.size() == largest_question) {
            ask(false);
        }
    });
    ask(true);
    renew_at_ = clock::now() + hub_->chosen().lease / 3;
}

/// @param request   the number of the request to which this is the reply.
/// @param doubtful  whether an offer that Redis does not know may have been matched.
void remote_room::apply_states(const std::vector<std::uint64_t>& numbers, std::string_view states,
                               std::uint64_t request, bool doubtful) {
    std::vector<std::uint64_t> matched;
    for (std::size_t i = 0; i != std::min(numbers.size(), states.size()); ++i) {
        const auto found = numbered_.find(numbers[i]);
        if (found == numbered_.end() || found->second->request > request) {
            continue; // complete, or sent again, since
        }
        const auto each = found->second;
        if (states[i] == 'm') {
            matched.push_back(each->number);
        } else if (states[i] == '?') {
            if (each->arrived != 0 && !each->arriving) {
                absent(each, doubtful);
            }
        } else if (each->at == where::leaving && each->withdrawn != hub_->link().epoch()) {
            send_withdrawal(each);
        }
    }
    if (!matched.empty()) {
        collect(std::move(matched));
    }
}

void remote_room::arrive(offers::iterator each) {
    const options& limits = hub_->chosen();
    std::string item;
    try {
        item = each->who->encode();
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
    const std::uint64_t number = each->number;
    each->arrived = hub_->link().epoch();
    each->arriving = true;
    if (each->waits) {
        move(each, where::abroad);
    }
    hub_->expect_match(number, *this);
    each->request =
        call("arrive",
             {std::to_string(number), std::to_string(each->side + 1),
              std::to_string(opposite(each->side) + 1), each->waits ? "1" : "0", std::move(item),
              hub_->wake_prefix(), std::to_string(largest_published_item)},
             [number](remote_room& self, const call_reply& reply) { self.arrived(reply, number); });
}

void remote_room::arrived(const call_reply& reply, std::uint64_t number) {
    const auto found = numbered_.find(number);
    if (found == numbered_.end()) {
        return;
    }
    const auto each = found->second;
    each->arriving = false;
    if (reply.what == call_reply::kind::lost) {
        return; // the room asks when it is connected again
    }
    if (is_current(reply)) {
        const answer got(reply);
        if (got.says("matched")) {
            finish(each, got.text(1));
        } else if (got.says("no_partner")) {
            complete(each, exchange_errc::no_partner);
        } else if (got.says("closed")) {
            complete(each, exchange_errc::closed);
            on_closed();
        } else if (each->at == where::leaving) {
            send_withdrawal(each);
        }
        return;
    }
    // The script has not run.
    each->arrived = 0;
    if (reply.what == call_reply::kind::refused && each->ending == exchange_errc{} &&
        !is_about_to_reconnect(reply.error)) {
        complete(each, exchange_errc::unavailable, in_room(reply.error));
        return;
    }
    absent(each, false);
}

/// Moves the offer to those that leave. The withdrawal may be sent later.
void remote_room::send_withdrawal(offers::iterator each) {
    if (each->at == where::abroad) {
        move(each, where::leaving);
    }
    if (member_ != membership::joined || each->arriving ||
        each->withdrawn == hub_->link().epoch()) {
        return;
    }
    each->withdrawn = hub_->link().epoch();
    call("withdraw", {std::to_string(each->number), std::to_string(each->side + 1)},
         [number = each->number, request = last_request_ + 1](remote_room& self,
                                                              const call_reply& reply) {
             self.withdrawal_answered(reply, number, request);
         });
}

void remote_room::withdrawal_answered(const call_reply& reply, std::uint64_t number,
                                      std::uint64_t request) {
    const auto found = numbered_.find(number);
    if (found == numbered_.end() || found->second->request > request) {
        return; // complete, or sent again, since
    }
    const auto each = found->second;
    if (!is_current(reply)) {
        each->withdrawn = 0; // again with the next renewal, or after the next join
        return;
    }
    const answer got(reply);
    if (got.says("matched")) {
        finish(each, got.text(1));
    } else {
        absent(each, false);
    }
}

void remote_room::collect(std::vector<std::uint64_t> numbers) {
    std::vector<std::string> rest;
    rest.reserve(numbers.size());
    for (const std::uint64_t number : numbers) {
        rest.push_back(std::to_string(number));
    }
    call("collect", std::move(rest),
         [numbers = std::move(numbers)](remote_room& self, const call_reply& reply) {
             if (!self.is_current(reply)) {
                 return; // asked again after the next join
             }
             const answer got(reply);
             for (std::size_t i = 0; i != numbers.size(); ++i) {
                 const auto found = self.numbered_.find(numbers[i]);
                 const redisReply* item = got[i + 1];
                 if (found != self.numbered_.end() && item != nullptr &&
                     item->type == REDIS_REPLY_STRING) {
                     self.finish(found->second, text_of(item));
                 }
             }
         });
}

void remote_room::send_counts() {
    if (member_ != membership::joined) {
        return;
    }
    for (const auto& who : std::exchange(counts_, {})) {
        call("count", {}, [who](remote_room& self, const call_reply& reply) {
            if (self.is_current(reply)) {
                who->decode(answer(reply).text(1));
                who->succeed();
            } else if (reply.what == call_reply::kind::refused) {
                who->fail(exchange_errc::unavailable, self.in_room(reply.error));
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
    call("close", {hub_->wake_prefix()}, [](remote_room& self, const call_reply& reply) {
        const bool ends = self.is_current(reply) || reply.what == call_reply::kind::refused;
        self.close_ = ends ? announcement::none : announcement::due;
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
    schedule_timer();
}

void remote_room::lose_membership() {
    member_ = membership::none;
    for (auto& [number, each] : ghosts_) {
        each.asked = false;
    }
    if (any_sent() && doubt_at_ == clock::time_point::max()) {
        doubt_at_ = clock::now() + hub_->chosen().lease;
    }
}

void remote_room::on_down() {
    pump();
}

void remote_room::on_match(std::uint64_t number, const std::string_view* item) {
    const auto found = numbered_.find(number);
    if (found == numbered_.end()) {
        return;
    }
    if (item != nullptr) {
        finish(found->second, *item);
    } else if (member_ == membership::joined) {
        collect({number});
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
        complete_all(home(side), exchange_errc::closed);
        while (!abroad(side).empty()) {
            abroad(side).front().ending = exchange_errc::closed;
            send_withdrawal(abroad(side).begin());
        }
    }
}

void remote_room::shut_down(const std::string& reason) {
    shut_down_ = true;
    timer_.cancel();
    const std::string text = in_room(reason);
    doubt_all(text);
    refuse_all(text);
    turn_timer_.cancel(); // its handler ends the turns
}

// ---- How offers end

/// A partner's item has come. Its copy in Redis can go.
void remote_room::finish(offers::iterator each, std::string_view item) {
    acknowledgements_ += ' ' + std::to_string(each->number);
    const auto who = remove(each);
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
void remote_room::absent(offers::iterator each, bool doubtful) {
    if (doubtful && each->arrived != 0) {
        complete(each, exchange_errc::in_doubt,
                 in_room("the server has been replaced or restarted, or has lost its data"));
        return;
    }
    each->arrived = 0;
    each->withdrawn = 0;
    if (closed_ || left_) {
        complete(each, each->ending == exchange_errc{} ? exchange_errc::closed : each->ending);
    } else if (each->ending != exchange_errc{}) {
        complete(each, each->ending);
    } else if (each->waits) {
        move(each, where::home);
    } // A try is sent again.
}

void remote_room::complete(offers::iterator each, exchange_errc why, std::string reason) {
    remove(each)->fail(why, std::move(reason));
}

void remote_room::complete_all(offers& which, exchange_errc why, const std::string& reason) {
    while (!which.empty()) {
        complete(which.begin(), why, reason);
    }
}

/// Ends what has not been sent, and all questions.
void remote_room::refuse_all(const std::string& reason) {
    take_parties();
    match_at_home();
    const auto why = closed_ || left_ ? exchange_errc::closed : exchange_errc::unavailable;
    for (offers& all : offers_[0]) {
        complete_all(all, why, reason);
    }
    for (auto each = tries_.begin(); each != tries_.end();) {
        const auto next = std::next(each);
        if (each->arrived == 0) {
            complete(each, why, reason);
        }
        each = next;
    }
    for (const auto& each : std::exchange(counts_, {})) {
        each->fail(exchange_errc::unavailable, reason);
    }
}

void remote_room::doubt_all(const std::string& reason) {
    std::vector<offers::iterator> all;
    each_sent([&](offer& each) { all.push_back(numbered_.at(each.number)); });
    for (const auto each : all) {
        ghosts_[each->number] = {.side = each->side};
        complete(each, exchange_errc::in_doubt, reason);
    }
    doubt_at_ = clock::time_point::max();
}

/// Moves the offer, in the order of arrival.
void remote_room::move(offers::iterator each, where to) {
    offers& from = list_of(*each);
    each->at = to;
    offers& there = list_of(*each);
    auto position = there.end();
    while (position != there.begin() && std::prev(position)->number > each->number) {
        --position;
    }
    there.splice(position, from, each);
}

std::shared_ptr<party> remote_room::remove(offers::iterator each) {
    auto who = std::move(each->who);
    hub_->forget(each->number);
    numbered_.erase(each->number);
    list_of(*each).erase(each);
    return who;
}

remote_room::offers& remote_room::list_of(const offer& each) {
    return each.waits ? offers_[static_cast<std::size_t>(each.at)][each.side] : tries_;
}

template <class Visit>
void remote_room::each_sent(Visit visit) {
    for (std::size_t side = 0; side != sides_; ++side) {
        for (offers* list : {&abroad(side), &leaving(side)}) {
            for (offer& each : *list) {
                visit(each);
            }
        }
    }
    for (offer& each : tries_) {
        if (each.arrived != 0) {
            visit(each);
        }
    }
}

bool remote_room::any_sent() {
    bool any = false;
    each_sent([&](offer&) { any = true; });
    return any;
}

std::string remote_room::in_room(std::string_view what) const {
    return "tryst: room \"" + name_ + "\": " + std::string(what);
}

// ---- Time

void remote_room::schedule_timer() {
    auto due = doubt_at_;
    if (!numbered_.empty() || !acknowledgements_.empty() || close_ != announcement::none) {
        due = std::min(due, renew_at_);
    }
    if (due >= timer_at_ || shut_down_) {
        return;
    }
    timer_at_ = due;
    timer_.expires_at(due);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
        if (!error && !self->shut_down_) {
            self->timer_expired();
        }
    });
}

void remote_room::timer_expired() {
    timer_at_ = clock::time_point::max();
    const auto now = clock::now();
    if (now >= doubt_at_) {
        doubt_all(in_room("no connection for one lease: " + hub_->last_error()));
    }
    if (now >= renew_at_) {
        renew_at_ = now + hub_->chosen().lease / 3;
        if (member_ == membership::joined) {
            renew(false, false);
            withdraw_ghosts();
        } else if (any_sent() || close_ != announcement::none) {
            join();
        }
    }
    pump();
}

void remote_room::leave_if_done() {
    if (!left_ || !numbered_.empty() || !counts_.empty() || close_ != announcement::none) {
        return;
    }
    if (member_ == membership::joined) {
        member_ = membership::none;
        call("leave", {}, [](remote_room&, const call_reply&) {});
    }
    shut_down_ = true;
    timer_.cancel();
    turn_timer_.cancel();
    hub_->remove(*this);
}

} // namespace detail
TRYST_REDIS_END
