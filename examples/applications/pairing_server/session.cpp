// SPDX-License-Identifier: MIT
#include "session.hpp"

#include <tryst/result.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <system_error>
#include <tuple>
#include <utility>

namespace pairing {

namespace {

outcome outcome_of(std::error_code error, outcome why_withdrawn) {
    if (!error) {
        return outcome::exchanged;
    }
    if (error == tryst::exchange_errc::timed_out) {
        return outcome::timed_out;
    }
    if (error == tryst::exchange_errc::cancelled) {
        return why_withdrawn;
    }
    if (error == tryst::exchange_errc::closed) {
        return outcome::closed;
    }
    if (error == tryst::exchange_errc::unavailable) {
        return outcome::unavailable;
    }
    return error == tryst::exchange_errc::in_doubt ? outcome::in_doubt : outcome::failed;
}

/// The explanation, and more if there is more, in printable ASCII. `more` may contain the name of
/// the room.
std::string text_of(outcome why, const std::string& more) {
    std::string text(explanation_of(why));
    if (!more.empty()) {
        text += " (" + more + ')';
        std::ranges::replace_if(text, [](char each) { return each < ' ' || each > '~'; }, '?');
    }
    return text;
}

} // namespace

awaitable<outcome> session::run() {
    outcome status = outcome::failed;
    bool delivered = false;
    try {
        timer_.expires_after(shared_.settings.receive_time);
        receiving_ = true;
        const auto arrived = co_await with_timeout(timer_, receive());
        receiving_ = false;
        status = arrived ? *arrived : outcome::slow;
        if (status != outcome::disconnected && shared_.draining) {
            status = outcome::closed;
        }
        if (status == outcome::exchanged) {
            const auto visit = shared_.all_rooms.enter(room_);
            watch_for_hang_up();
            const std::error_code end =
                co_await visit->meet(kind_, body_, shared_.settings.wait_time, stop_.get_token());
            status = outcome_of(end, withdrawn_.value_or(outcome::failed));
        } else {
            body_ = {};
        }
    } catch (const std::exception&) { // out of memory: only this client gets an error
        status = outcome::failed;
        body_ = {};
    }
    receiving_ = false;
    asio::error_code ignored;
    std::ignore = socket_.cancel(ignored); // no longer watch for the hang-up
    try {
        delivered = co_await send(status);
    } catch (const std::exception&) {
        delivered = false; // out of memory even for an error reply; other sessions go on
    }
    std::ignore = socket_.close(ignored);
    co_return status == outcome::exchanged && !delivered ? outcome::undelivered : status;
}

void session::interrupt() {
    if (receiving_) {
        timer_.cancel();
    }
    withdraw(outcome::closed);
}

/// @returns `exchanged` if the client may be, else why it may not.
awaitable<outcome> session::receive() {
    constexpr std::size_t first_part = 1024;
    header_bytes head{};
    const auto [no_head, head_size] =
        co_await asio::async_read(socket_, asio::buffer(head), use_tuple);
    if (no_head) {
        co_return outcome::disconnected;
    }
    const auto fields = decode(head);
    if (!fields || fields->name_size == 0) {
        co_return outcome::bad_frame;
    }
    kind_ = static_cast<request_kind>(fields->code);
    const bool has_side = kind_ == request_kind::ask || kind_ == request_kind::answer;
    if (!has_side && kind_ != request_kind::exchange) {
        co_return outcome::bad_frame;
    }
    if (fields->name_size > shared_.settings.max_room_name ||
        fields->body_size > shared_.settings.max_message) {
        co_return outcome::too_large;
    }
    if (has_side != shared_.settings.red_blue) {
        co_return has_side ? outcome::no_sides : outcome::side_needed;
    }
    room_.resize(fields->name_size);
    const auto [no_name, name_size] =
        co_await asio::async_read(socket_, asio::buffer(room_), use_tuple);
    if (no_name) {
        co_return outcome::disconnected;
    }
    // A large message takes memory as it arrives, not as it is announced. Allocate in the
    // coroutine: an exception of a dynamic buffer would escape from the event loop.
    while (body_.size() != fields->body_size) {
        const std::size_t before = body_.size();
        body_.resize(std::min<std::size_t>(fields->body_size, std::max(2 * before, first_part)));
        const auto [no_body, part] = co_await asio::async_read(
            socket_, asio::buffer(&body_[before], body_.size() - before), use_tuple);
        if (no_body) {
            co_return outcome::disconnected;
        }
    }
    co_return outcome::exchanged;
}

/// A waiting client must not send anything: end of file, an error or a byte withdraws its offer.
void session::watch_for_hang_up() {
    socket_.async_receive(asio::buffer(&unexpected_, 1), [self = shared_from_this()](
                                                             asio::error_code error, std::size_t) {
        if (error != asio::error::operation_aborted) {
            self->withdraw(error ? outcome::disconnected : outcome::bad_frame);
        }
    });
}

/// If the client has just been paired, this has no effect.
void session::withdraw(outcome why) {
    if (!withdrawn_) {
        withdrawn_ = why;
        stop_.request_stop();
    }
}

/// @returns whether the client got the reply.
awaitable<bool> session::send(outcome status) {
    if (status != outcome::exchanged) {
        body_ = text_of(status, body_);
    }
    bool sent = false;
    timer_.expires_after(shared_.settings.send_time);
    const std::optional<bool> finished = co_await with_timeout(timer_, deliver(status, sent));
    // If the time ran out after the whole reply was sent, the client still got it.
    co_return finished.value_or(sent);
}

/// Sends the reply, then reads until the client hangs up. Closing the socket earlier, while bytes
/// still arrive (for example of a message that is too large), would reset the connection, and the
/// client might never see the reply.
/// @param sent  set once the whole reply has been written, in case the caller cancels this.
/// @returns false if the client disconnected before it had the whole reply.
awaitable<bool> session::deliver(outcome status, bool& sent) {
    const auto head = encode({.code = static_cast<std::uint8_t>(status),
                              .name_size = 0,
                              .body_size = static_cast<std::uint32_t>(body_.size())});
    const std::array<asio::const_buffer, 2> parts{asio::buffer(head), asio::buffer(body_)};
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
