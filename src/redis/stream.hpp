// SPDX-License-Identifier: MIT
/// @file
/// A TCP or Unix socket, with or without TLS.
/// Asio, OpenSSL.
#pragma once

#include <tryst/redis/options.hpp>

#ifdef TRYST_BOOST_ASIO

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#else

#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/dispatch.hpp>
#include <asio/error.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/redirect_error.hpp>
#include <asio/ssl.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#endif

#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

TRYST_REDIS_BEGIN
namespace detail {

/// A TCP or Unix socket, with or without TLS. Handlers run on its executor.
class stream {
public:
    using endpoint = net::generic::stream_protocol::endpoint;

    explicit stream(const net::any_io_executor& executor) : socket_(executor) {}

    bool has_tls() const { return tls_.has_value(); }

    template <class Token>
    auto async_connect(const endpoint& where, Token&& token) {
        return socket_.async_connect(where, std::forward<Token>(token));
    }

    /// Sends small requests at once.
    void set_no_delay();

    /// Prepares TLS for a server of this name, which it asks for and, if it shall, checks.
    /// @throws std::runtime_error that names the file that cannot be used.
    void use_tls(const tls_options& chosen, const std::string& name);

    /// Precondition: `use_tls`.
    template <class Token>
    auto async_handshake(Token&& token) {
        return tls_->async_handshake(net::ssl::stream_base::client, std::forward<Token>(token));
    }

    template <class Buffers, class Token>
    auto async_read_some(const Buffers& buffers, Token&& token) {
        return tls_ ? tls_->async_read_some(buffers, std::forward<Token>(token))
                    : socket_.async_read_some(buffers, std::forward<Token>(token));
    }

    template <class Buffers, class Token>
    auto async_write_some(const Buffers& buffers, Token&& token) {
        return tls_ ? tls_->async_write_some(buffers, std::forward<Token>(token))
                    : socket_.async_write_some(buffers, std::forward<Token>(token));
    }

    /// How many bytes the kernel still holds that it has not delivered; 0 if it does not say.
    int undelivered();

    /// Ends every operation.
    void close();

private:
    std::optional<net::ssl::context> tls_context_;
    net::generic::stream_protocol::socket socket_;
    std::optional<net::ssl::stream<net::generic::stream_protocol::socket&>> tls_;
};

} // namespace detail
TRYST_REDIS_END
