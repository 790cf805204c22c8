// SPDX-License-Identifier: MIT
#include "session.hpp"

#include "address.hpp"

#include <tryst/asio.hpp>

#include <exception>
#include <tuple>
#include <utility>
#include <vector>

namespace pairing {

namespace {

/// Takes a partner who is waiting.
tryst::exchange_result<message> meet_at_once(const rooms::guest& at, request asked) {
    switch (asked.kind) {
    case request_kind::ask:
        return at.desk().try_red(std::move(asked.body));
    case request_kind::answer:
        return at.desk().try_blue(std::move(asked.body));
    default:
        return at.meeting().try_exchange(std::move(asked.body));
    }
}

} // namespace

session::session(house& shared, tcp::socket socket)
    : house_(shared), socket_(std::move(socket)), timer_(socket_.get_executor()) {}

awaitable<outcome> session::run() {
    outcome status = outcome::failed;
    bool delivered = false;
    try {
        reply result = co_await serve_or_fail();
        status = result.status;
        delivered = co_await send(std::move(result));
    } catch (const std::exception&) {
        delivered = false; // no memory even to tell it: the others go on
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

/// No memory for a message concerns its sender, who is told.
awaitable<session::reply> session::serve_or_fail() {
    try {
        co_return co_await serve();
    } catch (const std::exception&) {
        receiving_ = false;
        co_return refusal(outcome::failed);
    }
}

awaitable<session::reply> session::serve() {
    request_decoder decoder(house_.settings.frame);
    receiving_ = true;
    timer_.expires_after(house_.settings.receive_time);
    const std::optional<bool> heard = co_await before(timer_, receive(decoder));
    receiving_ = false;
    if (!heard) {
        co_return refusal(house_.meetings.is_closed() ? outcome::closed : outcome::slow);
    }
    if (!*heard) {
        co_return refusal(outcome::disconnected);
    }
    if (const auto why = decoder.refusal()) {
        co_return refusal(*why);
    }
    co_return co_await answer(decoder.take());
}

/// @returns false if the client left.
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

awaitable<session::reply> session::answer(request asked) {
    if (asked.kind == request_kind::statistics) {
        co_return report();
    }
    if (has_side(asked.kind) != house_.meetings.have_sides()) {
        co_return refusal(has_side(asked.kind) ? outcome::no_sides : outcome::side_needed);
    }
    co_return co_await exchange(std::move(asked));
}

session::reply session::report() const {
    asio::error_code error;
    const tcp::endpoint client = socket_.remote_endpoint(error);
    if (error || !plain(client.address()).is_loopback()) {
        return refusal(outcome::forbidden);
    }
    return {outcome::statistics, message(line_of(house_.visits.now(), house_.meetings.count()))};
}

awaitable<session::reply> session::exchange(request asked) {
    const auto guest = house_.meetings.enter(asked.room);
    if (!guest) {
        co_return refusal(house_.meetings.is_closed() ? outcome::closed : outcome::busy);
    }
    const auto seat = house_.meetings.take_seat(*guest, asked.kind);
    if (!seat) {
        // Nobody else may wait, but whoever does can still be met.
        auto met = meet_at_once(*guest, std::move(asked));
        if (!met) {
            co_return refusal(met.error());
        }
        co_return reply{outcome::exchanged, *std::move(met)};
    }

    watch();
    auto [error, body] = co_await wait(*guest, std::move(asked));
    asio::error_code ignored;
    std::ignore = socket_.cancel(ignored); // the watch
    if (error) {
        co_return refusal(error);
    }
    co_return reply{outcome::exchanged, std::move(body)};
}

awaitable<std::tuple<asio::error_code, message>> session::wait(const rooms::guest& at,
                                                               request asked) {
    auto token = asio::bind_cancellation_slot(withdrawal_.slot(), use_tuple);
    const auto patience = house_.settings.wait_time;
    switch (asked.kind) {
    case request_kind::ask:
        return tryst::asio::async_red_for(at.desk(), std::move(asked.body), patience, token);
    case request_kind::answer:
        return tryst::asio::async_blue_for(at.desk(), std::move(asked.body), patience, token);
    default:
        return tryst::asio::async_exchange_for(at.meeting(), std::move(asked.body), patience,
                                               token);
    }
}

session::reply session::refusal(std::error_code why) const {
    if (why == tryst::exchange_errc::timed_out) {
        return refusal(outcome::timed_out);
    }
    if (why == tryst::exchange_errc::closed) {
        return refusal(outcome::closed);
    }
    if (why == tryst::exchange_errc::cancelled) {
        return refusal(why_withdrawn_);
    }
    return refusal(outcome::busy); // no_partner, and no seat
}

/// A client that waits has nothing to say: whatever comes, a farewell or a byte, withdraws its offer.
/// If a partner was faster, the exchange has taken place and the signal finds nothing to cancel.
void session::watch() {
    socket_.async_receive(asio::buffer(&unexpected_, 1),
                          [self = shared_from_this()](asio::error_code error, std::size_t) {
                              if (error == asio::error::operation_aborted) {
                                  return; // the wait is over
                              }
                              self->why_withdrawn_ =
                                  error ? outcome::disconnected : outcome::bad_frame;
                              self->withdrawal_.emit(asio::cancellation_type::total);
                          });
}

/// @returns whether the client has had it.
awaitable<bool> session::send(reply what) {
    bool sent = false;
    timer_.expires_after(house_.settings.send_time);
    const std::optional<bool> taken = co_await before(timer_, deliver(what, sent));
    // A client that took all and does not hang up has had its reply.
    co_return taken.value_or(sent);
}

/// Sends the reply, then waits until the client hangs up. Who closes while bytes are still coming in, those
/// of a message that is too large, say, resets the connection, and the reply may never be seen.
/// @returns false if the client left before it had all. `sent` tells how far this got if it is cut short.
awaitable<bool> session::deliver(const reply& what, bool& sent) {
    const header_bytes head = encode({.code = static_cast<std::uint8_t>(what.status),
                                      .name_size = 0,
                                      .body_size = static_cast<std::uint32_t>(what.body.size())});
    std::vector<asio::const_buffer> parts{asio::buffer(head)};
    for (const auto& block : what.body.blocks()) {
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
