// SPDX-License-Identifier: MIT
#include "session.hpp"

#include "address.hpp"

#include <tryst/asio.hpp>
#include <tryst/select.hpp>

#include <exception>
#include <tuple>
#include <utility>
#include <vector>

namespace pairing {

namespace {

/// Pairs the client if a partner is waiting already.
tryst::exchange_result<message> exchange_without_waiting(const rooms::room_reference& room,
                                                         request incoming) {
    switch (incoming.kind) {
    case request_kind::ask:
        return room.red_blue().try_red(std::move(incoming.body));
    case request_kind::answer:
        return room.red_blue().try_blue(std::move(incoming.body));
    default:
        return room.exchanger().try_exchange(std::move(incoming.body));
    }
}

} // namespace

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
    if (incoming.kind == request_kind::statistics || incoming.kind == request_kind::notice) {
        if (!is_local()) {
            co_return refusal(outcome::forbidden);
        }
        if (incoming.kind == request_kind::notice) {
            notify_all(incoming.body);
        }
        co_return report();
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

session::reply session::report() const {
    return {outcome::statistics,
            message(line_of(shared_.counters.now(), shared_.all_rooms.count()))};
}

/// Sends the notice to all clients that wait now. The channel serves the longest waiting first, so
/// clients that come back at once are not notified twice.
void session::notify_all(const message& notice) {
    const std::string text = notice.text();
    for (std::size_t left = shared_.all_rooms.count().waiting; left != 0; --left) {
        if (!shared_.notices.try_send(message(text))) {
            break; // the others have been paired, or have left
        }
    }
}

awaitable<session::reply> session::exchange(request incoming) {
    const auto room = shared_.all_rooms.enter(incoming.room);
    if (!room) {
        co_return refusal(shared_.all_rooms.is_closed() ? outcome::closed : outcome::busy);
    }
    const auto permit = shared_.all_rooms.acquire_wait_permit(*room, incoming.kind);
    if (!permit) {
        // This client must not wait, but it can still be paired with one that already waits.
        auto received = exchange_without_waiting(*room, std::move(incoming));
        if (!received) {
            co_return refusal(received.error());
        }
        co_return reply{outcome::exchanged, *std::move(received)};
    }

    switch (incoming.kind) {
    case request_kind::ask:
        co_return co_await wait_for(room->red_blue().red(std::move(incoming.body)));
    case request_kind::answer:
        co_return co_await wait_for(room->red_blue().blue(std::move(incoming.body)));
    default:
        co_return co_await wait_for(room->exchanger().exchange(std::move(incoming.body)));
    }
}

/// Waits for a partner or a notice. Only one of them can come: a client that gets a notice has not
/// been paired, and no other client has its message.
template <class Exchange>
awaitable<session::reply> session::wait_for(Exchange&& partner) {
    watch_for_disconnect();
    auto got = co_await tryst::asio::wait(
        tryst::select_for(shared_.settings.wait_time, std::forward<Exchange>(partner),
                          shared_.notices.receive(), withdrawal_.get_token()));
    asio::error_code ignored;
    std::ignore = socket_.cancel(ignored); // ends watch_for_disconnect
    if (got.index() == 1) {
        co_return reply{outcome::notified, *std::move(got).template get<1>()};
    }
    auto received = std::move(got).template get<0>();
    if (!received) {
        co_return refusal(received.error());
    }
    co_return reply{outcome::exchanged, *std::move(received)};
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
    return refusal(outcome::busy); // no partner was waiting, and this client must not wait
}

/// A waiting client must not send anything: end of file, an error or a byte withdraws its offer.
/// If the client has just been paired, the stop has no effect.
void session::watch_for_disconnect() {
    socket_.async_receive(asio::buffer(&unexpected_, 1),
                          [self = shared_from_this()](asio::error_code error, std::size_t) {
                              if (error == asio::error::operation_aborted) {
                                  return; // the wait is over
                              }
                              self->why_withdrawn_ =
                                  error ? outcome::disconnected : outcome::bad_frame;
                              self->withdrawal_.request_stop();
                          });
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
