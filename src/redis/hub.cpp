// SPDX-License-Identifier: MIT
#include "hub.hpp"

#include "slot.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>

#include <openssl/rand.h>

namespace tryst::redis {
extern const std::string_view rendezvous_script; // made from rendezvous.lua
}

TRYST_REDIS_BEGIN
namespace detail {

namespace {

// How many rooms and offers one call asks about. It occupies the server for less than a
// millisecond.
constexpr std::ptrdiff_t largest_batch = 50;

options checked(options chosen) {
    if (chosen.lease < std::chrono::milliseconds(100)) {
        throw std::invalid_argument("tryst::redis: options::lease must be at least 100 ms");
    }
    if (chosen.lease > std::chrono::hours(24)) {
        throw std::invalid_argument("tryst::redis: options::lease must be at most a day");
    }
    if (chosen.max_item == 0) {
        throw std::invalid_argument("tryst::redis: options::max_item must not be 0");
    }
    return chosen;
}

} // namespace

std::string hub::random_id() noexcept {
    constexpr std::size_t size = 16;
    if (random_used_ == random_.size()) {
        if (::RAND_bytes(random_.data(), static_cast<int>(random_.size())) != 1) {
            std::terminate(); // a token that can be guessed would be worse
        }
        random_used_ = 0;
    }
    static constexpr char digits[] = "0123456789abcdef";
    std::string id;
    for (const unsigned char byte : std::span(random_).subspan(random_used_, size)) {
        id += digits[byte >> 4U];
        id += digits[byte & 15U];
    }
    random_used_ += size;
    return id;
}

hub::hub(const net::any_io_executor& executor, options chosen)
    : options_(checked(std::move(chosen))), process_(random_id()),
      prefix_(options_.key_prefix + ":2:"),
      client_(std::make_shared<client>(
          executor, options_,
          std::vector<std::string>{prefix_ + "wake:" + process_, prefix_ + "closed"},
          rendezvous_script, *this)),
      tick_timer_(client_->strand()) {}

void hub::start() {
    // The client does not own the hub.
    net::post(strand(), [self = shared_from_this()] {
        if (!self->ended_) {
            self->client_->start();
            self->wait_for_tick();
        }
    });
}

// NOLINTNEXTLINE(bugprone-exception-escape): only without memory, and then nothing would end.
void hub::close() noexcept {
    {
        const std::scoped_lock lock(mutex_);
        if (std::exchange(closing_, true)) {
            return;
        }
    }
    // The deleter, so that the connection also ends if its context is destroyed before.
    const auto shut_down = [self = shared_from_this()](std::nullptr_t) { self->shut_down(); };
    net::post(strand(), [end = std::shared_ptr<void>(nullptr, shut_down)] {});
}

bool hub::is_connected() const {
    const std::scoped_lock lock(mutex_);
    return connected_;
}

std::string hub::last_error() const {
    const std::scoped_lock lock(mutex_);
    return error_;
}

void hub::report_to(std::shared_ptr<ready_party> who) noexcept {
    net::post(strand(), [self = shared_from_this(), who = std::move(who)]() mutable {
        self->waiting_for_ready_.push_back(std::move(who));
        self->report();
    });
}

/// Ends those that wait for the connection, if the attempt to connect has ended.
void hub::report() {
    if (!client_->ready() && is_hopeful()) {
        return;
    }
    for (const auto& who : std::exchange(waiting_for_ready_, {})) {
        if (client_->ready()) {
            who->succeed();
        } else {
            who->fail(exchange_errc::unavailable, last_error());
        }
    }
}

std::uint64_t hub::new_room_number() {
    const std::scoped_lock lock(mutex_);
    return ++last_room_;
}

void hub::add(std::shared_ptr<subscriber> entering) {
    net::post(strand(), [self = shared_from_this(), entering = std::move(entering)] {
        if (self->ended_) {
            entering->shut_down(self->last_error());
        } else {
            self->keys_.emplace(entering->key(), entering->number());
            self->rooms_.emplace(entering->number(), entering);
        }
    });
}

void hub::remove(const subscriber& leaving) noexcept {
    const auto [first, last] = keys_.equal_range(leaving.key());
    const auto found = std::find_if(
        first, last, [&](const auto& each) { return each.second == leaving.number(); });
    if (found != last) {
        keys_.erase(found);
    }
    rooms_.erase(leaving.number());
}

// ---- Time

/// Leases are renewed three times in each.
void hub::wait_for_tick() {
    tick_timer_.expires_after(options_.lease / 3);
    tick_timer_.async_wait([self = shared_from_this()](const error_code& error) {
        if (error || self->ended_) {
            return;
        }
        self->look(rooms(self->rooms_));
        self->wait_for_tick();
    });
}

// ---- Questions

/// In a cluster, the rooms of a call must be in one slot.
void hub::send(std::vector<question> questions) {
    const auto slot = [this](const question& each) {
        return client_->in_cluster() ? slot_of(each.room->key()) : 0;
    };
    if (client_->in_cluster()) {
        std::ranges::sort(questions, {}, [&](const question& each) {
            return std::tuple(slot(each), each.room->number(), each.request);
        });
    }
    for (auto first = questions.begin(); first != questions.end();) {
        std::size_t size = 0;
        auto last = first;
        do {
            size += last->numbers.size() + last->acknowledged.size();
            ++last;
        } while (last != questions.end() && slot(*last) == slot(*first) &&
                 last - first != largest_batch && size < largest_question);
        ask({std::make_move_iterator(first), std::make_move_iterator(last)});
        first = last;
    }
}

void hub::ask(std::vector<question> of_one_slot) {
    const auto batch = std::make_shared<std::vector<question>>(std::move(of_one_slot));
    std::vector<std::string> keys;
    const std::string epoch = std::to_string(client_->epoch());
    std::vector<std::string_view> words{"renew", epoch};
    for (const question& each : *batch) {
        keys.push_back(each.room->key());
        words.insert(words.end(), each.words.begin(), each.words.end());
    }
    const auto handler = [self = shared_from_this(), batch](const call_reply& got) {
        // An error of the script may be that of one room.
        const bool is_of_one = got.what == call_reply::kind::refused && batch->size() > 1 &&
                               (got.error.starts_with("ERR") || got.error.starts_with("WRONGTYPE"));
        for (std::size_t i = 0; i != batch->size(); ++i) {
            question& each = (*batch)[i];
            if (is_of_one) {
                std::vector<question> alone;
                alone.push_back(std::move(each));
                self->ask(std::move(alone));
                continue;
            }
            const bool has_part = got.value != nullptr && i + 1 < got.value->elements.size();
            each.room->answered(each, got, has_part ? &got.value->elements[i + 1] : nullptr);
        }
    };
    client_->call(keys, words, handler, client::when_moved::stay);
}

/// Once for all that is heard in this turn.
void hub::look_soon(std::uint64_t room) {
    const auto found = rooms_.find(room);
    if (found == rooms_.end() || !to_look_.insert(*found).second || to_look_.size() != 1) {
        return;
    }
    net::post(strand(),
              [self = shared_from_this()] { self->look(std::exchange(self->to_look_, {})); });
}

void hub::look(const rooms& at) {
    std::vector<question> questions;
    for (const auto& [number, each] : at) {
        each->look(questions);
    }
    send(std::move(questions));
}

// ---- What the client reports

void hub::on_change() {
    set_state(client_->ready(), client_->error());
    for (const auto& [number, each] : rooms(rooms_)) {
        each->on_change();
    }
}

/// On the process's own channel, the text is "<room>:<offer>" or "<room>:<offer> <token> <item>";
/// on the other, the key of a room that was closed. Any client of Redis may publish, so a message
/// without the token only makes the room look.
void hub::on_message(std::string_view channel, std::string_view text) {
    if (channel.ends_with("closed")) {
        const auto [first, last] = keys_.equal_range(text);
        for (auto each = first; each != last; ++each) {
            look_soon(each->second);
        }
        return;
    }
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::size_t end = std::min(text.find(' '), text.size());
    if (colon >= end) {
        return;
    }
    const auto room = parse_number<std::uint64_t>(text.substr(0, colon));
    const auto offer = parse_number<std::uint64_t>(text.substr(colon + 1, end - colon - 1));
    const auto found = rooms_.find(room.value_or(0));
    if (offer && found != rooms_.end()) {
        const auto owner = found->second;
        owner->on_match(*offer, text.substr(end));
    }
}

void hub::shut_down() {
    if (std::exchange(ended_, true)) {
        return;
    }
    const std::string reason = "the connection to " + options_.hosts.front().text() + " was closed";
    set_state(false, reason);
    client_->stop();
    for (const auto& [number, each] : rooms(rooms_)) {
        each->shut_down(reason);
    }
    rooms_.clear();
    keys_.clear();
    to_look_.clear();
    tick_timer_.cancel();
}

void hub::set_state(bool connected, std::string error) {
    {
        const std::scoped_lock lock(mutex_);
        connected_ = connected;
        error_ = std::move(error);
    }
    report();
}

} // namespace detail
TRYST_REDIS_END
