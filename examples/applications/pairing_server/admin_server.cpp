// SPDX-License-Identifier: MIT
#include "admin_server.hpp"

#include "listen.hpp"

#include <fmt/format.h>

#include <array>
#include <exception>
#include <optional>
#include <tuple>
#include <utility>

namespace pairing {

namespace {

/// @returns false if the client disconnected.
awaitable<bool> receive(tcp::socket& socket, http_request_decoder& decoder) {
    for (auto space = decoder.space(); !space.empty(); space = decoder.space()) {
        const auto [error, size] =
            co_await socket.async_read_some(asio::buffer(space.data(), space.size()), use_tuple);
        if (error) {
            co_return false;
        }
        decoder.commit(size);
    }
    co_return true;
}

/// Sends the text, then reads until the client hangs up: closing the socket while bytes arrive
/// would reset the connection, and the client might never see the reply.
awaitable<bool> deliver(tcp::socket& socket, const std::string& text) {
    const auto [failure, size] = co_await asio::async_write(socket, asio::buffer(text), use_tuple);
    asio::error_code end = failure;
    if (!end) {
        std::ignore = socket.shutdown(tcp::socket::shutdown_send, end);
    }
    std::array<char, 512> ignored; // NOLINT(cppcoreguidelines-pro-type-member-init)
    while (!end) {
        std::tie(end, std::ignore) =
            co_await socket.async_read_some(asio::buffer(ignored), use_tuple);
    }
    co_return true;
}

} // namespace

admin_server::admin_server(const options& chosen, std::vector<asio::io_context*> watched,
                           admin_sources sources)
    : acceptor_(listen(loop_, chosen.admin_address, chosen.admin_port.value())),
      monitor_(loop_, std::move(watched), loop_patience), sources_(std::move(sources)) {}

admin_server::~admin_server() {
    loop_.stop();
}

void admin_server::start() {
    asio::co_spawn(loop_, accept_connections(), rethrow);
    thread_ = std::jthread([this] { loop_.run(); });
}

awaitable<void> admin_server::accept_connections() {
    constexpr auto pause = std::chrono::milliseconds(50);
    asio::steady_timer timer(loop_);
    while (true) {
        auto [error, socket] = co_await acceptor_.async_accept(use_tuple);
        if (error) { // usually for lack of descriptors
            timer.expires_after(pause);
            co_await timer.async_wait(use_tuple);
        } else if (connections_ == max_connections) {
            asio::error_code ignored;
            std::ignore = socket.non_blocking(true, ignored);
            const std::string text =
                encode({http_status::unavailable, "too many administrative connections\n"});
            socket.write_some(asio::buffer(text), ignored);
            std::ignore = socket.shutdown(tcp::socket::shutdown_send, ignored);
        } else {
            ++connections_;
            asio::co_spawn(loop_, serve(std::move(socket)), rethrow);
        }
    }
}

awaitable<void> admin_server::serve(tcp::socket socket) {
    try {
        asio::steady_timer timer(loop_);
        const reply result = co_await answer(socket, timer);
        const std::string text = encode(result);
        timer.expires_after(send_time);
        co_await with_timeout(timer, deliver(socket, text));
    } catch (const std::exception&) {
        // Out of memory for this request. The connection is closed.
    }
    --connections_;
}

awaitable<admin_server::reply> admin_server::answer(tcp::socket& socket,
                                                    asio::steady_timer& timer) {
    http_request_decoder decoder;
    timer.expires_after(receive_time);
    const std::optional<bool> arrived = co_await with_timeout(timer, receive(socket, decoder));
    if (!arrived) {
        co_return reply{http_status::request_timeout, "the request was not complete in time\n"};
    }
    if (decoder.request()) {
        co_return co_await answer(*decoder.request());
    }
    switch (decoder.refusal().value_or(http_status::bad_request)) {
    case http_status::method_not_allowed:
        co_return reply{http_status::method_not_allowed, "only GET and HEAD are allowed\n"};
    case http_status::header_too_large:
        co_return reply{http_status::header_too_large, "the head of the request is too large\n"};
    default:
        co_return reply{http_status::bad_request, "this is not an HTTP/1.1 request\n"};
    }
}

awaitable<admin_server::reply> admin_server::answer(const http_request& incoming) {
    reply result{http_status::ok, "ok\n", incoming.is_head};
    if (incoming.path == "/metrics") {
        result.body = sources_.metrics();
    } else if (incoming.path == "/livez") {
        const std::string stuck = co_await monitor_.find_stuck_loops();
        if (!stuck.empty()) {
            result.status = http_status::unavailable;
            result.body = stuck;
        }
    } else if (incoming.path == "/readyz") {
        const std::string reason = sources_.unready_reason();
        if (!reason.empty()) {
            result.status = http_status::unavailable;
            result.body = reason + '\n';
        }
    } else {
        result.status = http_status::not_found;
        result.body = "not found; there are /metrics, /livez and /readyz\n";
    }
    co_return result;
}

std::string admin_server::encode(const reply& result) {
    return fmt::format("HTTP/1.1 {} {}\r\n"
                       "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                       "Content-Length: {}\r\n"
                       "Cache-Control: no-store\r\n"
                       "{}"
                       "Connection: close\r\n\r\n{}",
                       static_cast<int>(result.status), name_of(result.status), result.body.size(),
                       result.status == http_status::method_not_allowed ? "Allow: GET, HEAD\r\n"
                                                                        : "",
                       result.is_head ? "" : result.body);
}

} // namespace pairing
