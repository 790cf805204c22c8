// SPDX-License-Identifier: MIT
#include "session.hpp"

#include "address.hpp"

#include <tryst/result.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace pairing {

namespace {

outcome outcome_of(std::error_code error, outcome why_withdrawn) {
    if (error == tryst::exchange_errc::timed_out) {
        return outcome::timed_out;
    }
    if (error == tryst::exchange_errc::closed) {
        return outcome::closed;
    }
    if (error == tryst::exchange_errc::cancelled) {
        return why_withdrawn;
    }
    if (error == tryst::exchange_errc::unavailable) {
        return outcome::unavailable;
    }
    if (error == tryst::exchange_errc::in_doubt) {
        return outcome::in_doubt;
    }
    return outcome::busy; // no partner was waiting, and this client must not wait
}

} // namespace

std::string shared_state::report() const {
    return line_of(counters.now(), all_rooms.count(), place->is_connected());
}

std::string shared_state::unready_reason() const {
    // While accepting fails, it is retried many times in this time.
    constexpr auto recently = std::chrono::seconds(1);
    if (all_rooms.is_closed()) {
        return "the server is shutting down";
    }
    const statistics::counts counts = counters.now();
    if (counts.pauses != 0 && std::chrono::steady_clock::now() - counts.last_pause < recently) {
        return "accepting clients is paused for lack of descriptors";
    }
    if (!place->is_connected().value_or(true)) {
        return "Redis cannot be reached: " + place->problem();
    }
    return {};
}

metrics shared_state::measure() const {
    return {.counts = counters.now(),
            .occupancy = all_rooms.count(),
            .ready = unready_reason().empty(),
            .connected = place->is_connected(),
            .exchanges = place->stats()};
}

session::session(shared_state& shared, tcp::socket socket)
    : shared_(shared), socket_(std::move(socket)), timer_(socket_.get_executor()) {}

awaitable<outcome> session::run() {
    outcome status = outcome::failed;
    bool delivered = false;
    try {
        reply result = co_await serve_or_fail();
        status = result.status;
        delivered = co_await send(std::move(result));
    } catch (const std::exception&) {
        delivered = false; // out of memory even for an error reply; other sessions continue
    }
    asio::error_code ignored;
    std::ignore = socket_.close(ignored);
    co_return status == outcome::exchanged && !delivered ? outcome::undelivered : status;
}

void session::interrupt() {
    if (receiving_) {
        timer_.cancel();
    }
}

/// If memory for a message runs out, only its sender gets an error.
awaitable<session::reply> session::serve_or_fail() {
    try {
        co_return co_await serve();
    } catch (const std::exception&) {
        receiving_ = false;
        co_return refusal(outcome::failed);
    }
}

awaitable<session::reply> session::serve() {
    request_decoder decoder(shared_.settings.frame);
    receiving_ = true;
    timer_.expires_after(shared_.settings.receive_time);
    const std::optional<bool> arrived = co_await with_timeout(timer_, receive(decoder));
    receiving_ = false;
    if (!arrived) {
        co_return refusal(shared_.all_rooms.is_closed() ? outcome::closed : outcome::slow);
    }
    if (!*arrived) {
        co_return refusal(outcome::disconnected);
    }
    if (const auto why = decoder.refusal()) {
        co_return refusal(*why);
    }
    co_return co_await respond(decoder.take());
}

/// @returns false if the client disconnected.
awaitable<bool> session::receive(request_decoder& decoder) {
    for (auto space = decoder.space(); !space.empty(); space = decoder.space()) {
        const auto [error, size] =
            co_await socket_.async_read_some(asio::buffer(space.data(), space.size()), use_tuple);
        if (error) {
            co_return false;
        }
        decoder.commit(size);
    }
    co_return true;
}

awaitable<session::reply> session::respond(request incoming) {
    if (is_administrative(incoming.kind)) {
        co_return is_local() ? administer(incoming) : refusal(outcome::forbidden);
    }
    if (has_side(incoming.kind) != shared_.all_rooms.have_sides()) {
        co_return refusal(has_side(incoming.kind) ? outcome::no_sides : outcome::side_needed);
    }
    co_return co_await exchange(std::move(incoming));
}

bool session::is_local() const {
    asio::error_code error;
    const tcp::endpoint client = socket_.remote_endpoint(error);
    return !error && unmapped(client.address()).is_loopback();
}

session::reply session::administer(const request& incoming) {
    bool needs_others = false;
    if (incoming.kind == request_kind::notice) {
        shared_.all_rooms.notify(incoming.body.text());
    } else if (incoming.kind == request_kind::close_room) {
        shared_.all_rooms.close_room(incoming.room);
        needs_others = true;
    } else if (incoming.kind == request_kind::health) {
        needs_others = true;
    }
    if (needs_others && !shared_.place->is_connected().value_or(true)) {
        return refusal(outcome::unavailable, shared_.place->problem());
    }
    return {outcome::statistics, message(shared_.report())};
}

awaitable<session::reply> session::exchange(request incoming) {
    const auto room = shared_.all_rooms.enter(incoming.room);
    if (!room) {
        co_return refusal(shared_.all_rooms.is_closed() ? outcome::closed : outcome::busy);
    }
    const auto permit = shared_.all_rooms.acquire_wait_permit(*room, incoming.kind);
    if (!permit) {
        // This client must not wait, but it can still be paired with one that already waits.
        co_return reply_to(co_await (*room)->try_to_meet(std::move(incoming)), {});
    }
    const disconnection_watch watch(*this, *permit);
    meeting ended =
        co_await (*room)->meet(std::move(incoming), shared_.settings.wait_time, permit->token());
    co_return reply_to(std::move(ended), shared_.all_rooms.reason_of(*permit));
}

session::reply session::reply_to(meeting ended, const rooms::withdrawal& withdrawn) {
    if (!ended.error) {
        return {outcome::exchanged, std::move(ended.received)};
    }
    const outcome status = outcome_of(ended.error, withdrawn.why);
    if (status == outcome::notified) {
        return {status, message(*withdrawn.notice)};
    }
    return refusal(status, ended.reason);
}

/// The explanation, and the reason if there is one, in printable ASCII. The reason may contain the
/// name of the room.
session::reply session::refusal(outcome why, const std::string& reason) {
    std::string text(explanation_of(why));
    if (!reason.empty()) {
        text += " (" + reason + ')';
        std::ranges::replace_if(text, [](char each) { return each < ' ' || each > '~'; }, '?');
    }
    return {why, message(text)};
}

/// A waiting client must not send anything: end of file, an error or a byte withdraws its offer.
/// If the client has just been paired, the stop has no effect.
session::disconnection_watch::disconnection_watch(session& whose, rooms::wait& ends)
    : session_(whose) {
    whose.waiting_ = &ends;
    whose.socket_.async_receive(
        asio::buffer(&whose.unexpected_, 1),
        [self = whose.shared_from_this()](asio::error_code error, std::size_t) {
            if (self->waiting_ == nullptr) {
                return; // the wait is over
            }
            self->shared_.all_rooms.withdraw(*self->waiting_,
                                             error ? outcome::disconnected : outcome::bad_frame);
        });
}

session::disconnection_watch::~disconnection_watch() {
    session_.waiting_ = nullptr;
    asio::error_code ignored;
    std::ignore = session_.socket_.cancel(ignored);
}

/// @returns whether the client got the reply.
awaitable<bool> session::send(reply result) {
    bool sent = false;
    timer_.expires_after(shared_.settings.send_time);
    const std::optional<bool> finished = co_await with_timeout(timer_, deliver(result, sent));
    // If the time ran out after the whole reply was sent, the client still got it.
    co_return finished.value_or(sent);
}

/// Sends the reply, then reads until the client hangs up. Closing the socket earlier, while bytes
/// still arrive (for example of a message that is too large), would reset the connection, and the
/// client might never see the reply.
/// @param sent  set once the whole reply has been written, in case the caller cancels this.
/// @returns false if the client disconnected before it had the whole reply.
awaitable<bool> session::deliver(const reply& result, bool& sent) {
    const header_bytes head = encode({.code = static_cast<std::uint8_t>(result.status),
                                      .name_size = 0,
                                      .body_size = static_cast<std::uint32_t>(result.body.size())});
    std::vector<asio::const_buffer> parts{asio::buffer(head)};
    for (const auto& block : result.body.blocks()) {
        parts.emplace_back(block.data(), block.size());
    }
    const auto [failure, size] = co_await asio::async_write(socket_, parts, use_tuple);
    if (failure) {
        co_return false;
    }
    sent = true;
    asio::error_code end;
    std::ignore = socket_.shutdown(tcp::socket::shutdown_send, end);
    std::array<char, 512> ignored; // NOLINT(cppcoreguidelines-pro-type-member-init)
    while (!end) {
        std::tie(end, std::ignore) =
            co_await socket_.async_read_some(asio::buffer(ignored), use_tuple);
    }
    co_return end == asio::error::eof;
}

} // namespace pairing
