// SPDX-License-Identifier: MIT
#include "hub.hpp"

#include "rendezvous_script.hpp"
#include "room.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <utility>

TRYST_REDIS_BEGIN
namespace detail {

namespace {

constexpr std::size_t longest_name = 512;

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

/// Ends a connection, even if its context is destroyed before it could do so.
class shutdown_handler {
public:
    explicit shutdown_handler(std::shared_ptr<hub> whose) noexcept : hub_(std::move(whose)) {}
    shutdown_handler(shutdown_handler&&) noexcept = default;
    shutdown_handler& operator=(shutdown_handler&&) = delete;
    // NOLINTNEXTLINE(bugprone-exception-escape): only without memory for a completion.
    ~shutdown_handler() { (*this)(); }
    void operator()() {
        if (const auto whose = std::exchange(hub_, nullptr)) {
            whose->shut_down();
        }
    }

private:
    std::shared_ptr<hub> hub_;
};

} // namespace

std::string random_id() {
    std::random_device device;
    std::string id;
    for (int i = 0; i != 4; ++i) {
        std::array<char, 9> digits{};
        std::snprintf(digits.data(), digits.size(), "%08x", device());
        id += digits.data();
    }
    return id;
}

hub::hub(const net::any_io_executor& executor, options chosen)
    : options_(checked(std::move(chosen))), process_(random_id()),
      wake_prefix_(options_.key_prefix + ":wake:"),
      client_(std::make_shared<client>(executor, options_, process_, rendezvous_script, *this)) {}

void hub::start() {
    // The client does not own the hub.
    net::post(strand(), [self = shared_from_this()] {
        if (!self->ended_) {
            self->client_->start();
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
    net::post(strand(), shutdown_handler(shared_from_this()));
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
        if (self->client_->ready()) {
            who->succeed();
        } else if (!self->is_hopeful()) {
            who->fail(exchange_errc::unavailable, self->last_error());
        } else {
            self->waiting_for_ready_.push_back(std::move(who));
        }
    });
}

/// Nothing of a room may expire while an operation can still ask for it.
std::chrono::milliseconds hub::retention() const noexcept {
    return std::max(6 * options_.lease, std::chrono::milliseconds(std::chrono::minutes(1)));
}

std::string hub::new_member_id() {
    const std::scoped_lock lock(mutex_);
    return process_ + '.' + std::to_string(++last_member_);
}

void hub::add(std::shared_ptr<remote_room> entering) {
    net::post(strand(), [self = shared_from_this(), entering = std::move(entering)] {
        if (self->ended_) {
            entering->shut_down(self->last_error());
        } else {
            self->rooms_.emplace(entering.get(), entering);
        }
    });
}

void hub::remove(remote_room& leaving) noexcept {
    rooms_.erase(&leaving);
}

std::vector<std::shared_ptr<remote_room>> hub::all_rooms() const {
    std::vector<std::shared_ptr<remote_room>> all;
    all.reserve(rooms_.size());
    for (const auto& [room, owner] : rooms_) {
        all.push_back(owner);
    }
    return all;
}

void hub::on_ready() {
    set_state(true, {});
    for (const auto& who : std::exchange(waiting_for_ready_, {})) {
        who->succeed();
    }
    for (const auto& each : all_rooms()) {
        each->on_ready();
    }
}

void hub::on_lost() {
    set_state(false, client_->error());
    for (const auto& each : all_rooms()) {
        each->on_lost();
    }
}

void hub::on_down() {
    set_state(false, client_->error());
    for (const auto& who : std::exchange(waiting_for_ready_, {})) {
        who->fail(exchange_errc::unavailable, client_->error());
    }
    for (const auto& each : all_rooms()) {
        each->on_down();
    }
}

/// The text is "<number>", "<number>:<item>" or "closed:<key>". Any client of Redis may publish, so
/// other texts are ignored.
void hub::on_message(std::string_view text) {
    constexpr std::string_view closed = "closed:";
    if (text.starts_with(closed)) {
        for (const auto& each : all_rooms()) {
            if (each->key() == text.substr(closed.size())) {
                each->on_closed();
            }
        }
        return;
    }
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): `end` bounds it.
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    const auto found = rooms_of_offers_.find(number);
    if (error != std::errc() || found == rooms_of_offers_.end()) {
        return;
    }
    const auto room = found->second->shared_from_this();
    if (rest == end) {
        room->on_match(number, nullptr);
    } else if (*rest == ':') {
        const std::string_view item(rest + 1, end);
        room->on_match(number, &item);
    }
}

void hub::shut_down() {
    if (std::exchange(ended_, true)) {
        return;
    }
    const std::string reason = "the connection to " + options_.hosts.front().text() + " was closed";
    set_state(false, reason);
    client_->stop();
    for (const auto& who : std::exchange(waiting_for_ready_, {})) {
        who->fail(exchange_errc::unavailable, reason);
    }
    for (const auto& each : all_rooms()) {
        each->shut_down(reason);
    }
    rooms_.clear();
    rooms_of_offers_.clear();
}

void hub::set_state(bool connected, std::string error) {
    const std::scoped_lock lock(mutex_);
    connected_ = connected;
    error_ = std::move(error);
}

} // namespace detail

connection::connection(const net::any_io_executor& executor, options chosen)
    : hub_(std::make_shared<detail::hub>(executor, std::move(chosen))) {
    hub_->start();
}

connection::~connection() {
    close();
}

task<remote_result<void, void>> connection::connected() const {
    return detail::wait_until_ready(hub_);
}

bool connection::is_connected() const noexcept {
    return hub_->is_connected();
}

std::string connection::last_error() const {
    return hub_->last_error();
}

void connection::close() noexcept {
    hub_->close();
}

namespace detail {

task<remote_result<void, void>> wait_until_ready(std::shared_ptr<hub> whose) {
    const auto mine = std::make_shared<hub::ready_party>();
    mine->bring({});
    mine->decode({});
    whose->report_to(mine);
    auto completion = mine->completion();
    [[maybe_unused]] const auto ended = co_await completion;
    co_return mine->take();
}

std::shared_ptr<room> connection_access::open_room(connection& through, room_kind kind,
                                                   std::string_view name,
                                                   std::shared_ptr<local_place> place) {
    if (name.empty() || name.size() > longest_name) {
        throw std::invalid_argument("tryst::redis: the name of a room has " +
                                    std::to_string(name.size()) + " bytes; it must have 1 to " +
                                    std::to_string(longest_name));
    }
    auto opened = std::make_shared<remote_room>(through.hub_, kind, name, std::move(place));
    through.hub_->add(opened);
    return opened;
}

} // namespace detail
TRYST_REDIS_END
