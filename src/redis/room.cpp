// SPDX-License-Identifier: MIT
// A room's turns, in which its parties meet or are sent out, and the ends of its offers.
#include "room.hpp"

#include <exception>
#include <sstream>
#include <utility>

TRYST_REDIS_BEGIN
namespace detail {

namespace {

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

} // namespace

std::string present_exception() {
    try {
        throw;
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "an exception of an unknown type";
    }
}

remote_room::remote_room(std::shared_ptr<hub> with, room_kind kind, std::string_view name,
                         std::shared_ptr<local_place> place)
    : subscriber(with->prefix() + static_cast<char>(kind) + ":{" + escaped(name) + '}',
                 with->new_room_number()),
      hub_(std::move(with)), place_(std::move(place)), sides_(kind == room_kind::exchange ? 1 : 2),
      name_(escaped(name)), member_id_(hub_->process() + '.' + std::to_string(number())),
      turn_timer_(hub_->strand()) {}

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
        self->offers_.add(std::move(who), side, false, self->hub_->random_id());
        self->pump();
    });
}

void remote_room::withdraw(std::shared_ptr<party> who, exchange_errc why) noexcept {
    net::post(hub_->strand(), [self = shared_from_this(), who = std::move(who), why] {
        if (offer* const each = self->offers_.find(who->number)) {
            self->must_end(*each, why);
        }
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
    if (pace_.pause() == pace_.pause().zero()) {
        end_turn();
        return;
    }
    turn_timer_.expires_after(pace_.pause());
    // Also after a shutdown, which cancels the timer: turns end when no party is left.
    turn_timer_.async_wait([self = shared_from_this()](const error_code&) { self->end_turn(); });
}

void remote_room::end_turn() {
    const bool must_take = pace_.must_take(arriving.departures());
    if (shut_down_) {
        refuse_all(in_room(hub_->last_error()));
    } else if (must_take) {
        take_parties();
        pump();
    }
    pace_.adapt();
    if (arriving.repeat()) {
        schedule_turn();
    }
}

void remote_room::take_parties() {
    for (std::size_t side = 0; side != sides_; ++side) {
        while (auto who = place_->take(side, shared_from_this())) {
            offers_.add(std::move(who), side, true, hub_->random_id());
            pace_.add_taken();
        }
    }
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
    const std::size_t last = sides_ - 1;
    while (offers_.count(where::home, last) > 1 - last && offers_.count(where::home, 0) != 0) {
        const auto one = offers_.remove(*offers_.first(where::home, 0));
        const auto other = offers_.remove(*offers_.first(where::home, last));
        one->swap_items(*other);
        one->succeed();
        other->succeed();
    }
}

/// Withdraws offers for which a partner has come home.
void remote_room::recall() {
    for (std::size_t side = 0; side != sides_; ++side) {
        const std::size_t other = opposite(side);
        while (offers_.count(where::leaving, other) < offers_.count(where::home, side)) {
            offer* const each = offers_.first(where::abroad, other);
            if (each == nullptr) {
                break;
            }
            send_withdrawal(*each);
        }
    }
}

void remote_room::send_out() {
    if (counts_.empty() && offers_.any(where::home) == nullptr) {
        return;
    }
    if (member_ != membership::joined) {
        join();
        return;
    }
    for (std::size_t side = 0; side != sides_; ++side) {
        const std::size_t other = opposite(side);
        while (offers_.count(where::home, side) != 0 && offers_.count(where::abroad, other) == 0 &&
               offers_.count(where::leaving, other) == 0) {
            arrive(*offers_.first(where::home, side));
        }
    }
    while (offer* const each = offers_.first(where::home, offer_table::tries)) {
        arrive(*each);
    }
}

void remote_room::leave_if_done() {
    if (!left_ || !offers_.empty() || !counts_.empty() || counting_ != 0 ||
        close_ != announcement::none) {
        return;
    }
    // Otherwise the record must stay, for those who remove what its member has left.
    if (member_ == membership::joined && ghosts_.empty()) {
        send_leave();
    }
    shut_down_ = true;
    turn_timer_.cancel();
    doubt_timer_.reset();
    hub_->remove(*this);
}

// ---- What the client reports

void remote_room::on_change() {
    if (!hub_->link().ready()) {
        lose_membership();
    } else if (must_join()) {
        join();
    }
    pump();
}

/// Whether Redis must be told something, or may know something.
bool remote_room::must_join() {
    return offers_.any_sent() != nullptr || !ghosts_.empty() || close_ != announcement::none;
}

void remote_room::on_match(std::uint64_t number, std::string_view rest) {
    offer* const each = offers_.find(number);
    if (each == nullptr || each->at == where::home) {
        return;
    }
    if (rest.empty()) {
        if (member_ == membership::joined) {
            collect({number});
        }
    } else if (const std::string begin = ' ' + each->token + ' '; rest.starts_with(begin)) {
        finish(*each, rest.substr(begin.size()));
    }
    pump();
}

void remote_room::look(std::vector<question>& into) {
    if (shut_down_) {
        return;
    }
    if (close_ == announcement::refused) {
        close_ = announcement::due;
    }
    if (member_ == membership::joined) {
        if (must_join() || !offers_.empty() || !acknowledgements_.empty()) {
            ask(into, false);
            withdraw_ghosts();
        }
    } else if (must_join()) {
        join();
    }
    pump();
}

void remote_room::shut_down(const std::string& reason) {
    shut_down_ = true;
    const std::string text = in_room(reason);
    doubt_all(text);
    refuse_all(text);
    turn_timer_.cancel(); // its handler ends the turns
}

// ---- How offers end

/// Calls `then`, unless `timer` is destroyed or starts again before.
template <class Then>
void remote_room::after_a_lease(std::optional<net::steady_timer>& timer, Then then) {
    timer.emplace(hub_->strand(), hub_->chosen().lease);
    timer->async_wait([self = shared_from_this(), then](const error_code& error) {
        if (!error && !self->shut_down_) {
            then(*self);
            self->pump();
        }
    });
}

/// The offer's limit has been reached. It ends within a lease.
void remote_room::must_end(offer& each, exchange_errc why) {
    if (each.at == where::home) {
        complete(each, why);
        return;
    }
    if (std::exchange(each.ending, why) == exchange_errc{}) {
        after_a_lease(each.limit, [number = each.number](remote_room& self) {
            if (offer* const overdue = self.offers_.find(number)) {
                self.doubt(*overdue,
                           self.in_room("Redis did not withdraw the offer within one lease"));
            }
        });
    }
    if (each.waits) { // A try ends with its reply.
        send_withdrawal(each);
    }
}

/// A partner's item has come. Its copy in Redis can go.
void remote_room::finish(offer& each, std::string_view item) {
    acknowledgements_.insert(each.number);
    const auto who = offers_.remove(each);
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
void remote_room::absent(offer& each, bool doubtful) {
    each.withdrawn = 0;
    if (doubtful) {
        complete(each, exchange_errc::in_doubt,
                 in_room("the server has been replaced or restarted, or has lost its data"));
    } else if (each.ending != exchange_errc{}) {
        complete(each, each.ending);
    } else if (closed_ || left_) {
        complete(each, exchange_errc::closed);
    } else {
        offers_.move(each, where::home);
    }
}

void remote_room::complete(offer& each, exchange_errc why, std::string reason) {
    offers_.remove(each)->fail(why, std::move(reason));
}

void remote_room::doubt(offer& each, const std::string& reason) {
    ghosts_[each.number].arriving = each.arriving;
    complete(each, exchange_errc::in_doubt, reason);
}

void remote_room::on_closed() {
    if (!std::exchange(closed_, true)) {
        place_->close();
        end_all();
        pump();
    }
}

/// Ends what is at home with `closed`, and withdraws what is abroad. A try ends with its reply.
void remote_room::end_all() {
    take_parties(); // those that were on their way out of the place when it was closed
    for (std::size_t side = 0; side != sides_; ++side) {
        for (const where at : {where::home, where::abroad}) {
            while (offer* const each = offers_.first(at, side)) {
                must_end(*each, exchange_errc::closed);
            }
        }
    }
}

/// Ends what has not been sent, and all questions.
void remote_room::refuse_all(const std::string& reason) {
    take_parties();
    match_at_home();
    const auto why = closed_ || left_ ? exchange_errc::closed : exchange_errc::unavailable;
    while (offer* const each = offers_.any(where::home)) {
        complete(*each, why, reason);
    }
    for (const auto& each : std::exchange(counts_, {})) {
        each->fail(exchange_errc::unavailable, reason);
    }
}

void remote_room::doubt_all(const std::string& reason) {
    doubt_timer_.reset();
    while (offer* const each = offers_.any_sent()) {
        doubt(*each, reason);
    }
}

/// Redis may let the offers' lease expire from now on.
void remote_room::lose_membership() {
    member_ = membership::none;
    for (auto& [number, each] : ghosts_) {
        each.asked = false; // an arrival that is under way is still answered
    }
    if (offers_.any_sent() != nullptr && !doubt_timer_) {
        after_a_lease(doubt_timer_, [](remote_room& self) {
            if (self.doubt_timer_ && self.doubt_timer_->expiry() <= clock::now()) {
                self.doubt_all(
                    self.in_room("no connection for one lease: " + self.hub_->last_error()));
            }
        });
    }
}

std::string remote_room::in_room(std::string_view what) const {
    return "tryst: room \"" + name_ + "\": " + std::string(what);
}

} // namespace detail
TRYST_REDIS_END
