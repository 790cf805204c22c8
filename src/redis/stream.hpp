// SPDX-License-Identifier: MIT
/// @file
/// A TCP or Unix socket, with or without TLS.
/// Asio, OpenSSL.
#pragma once

#include "sockets.hpp"

#include <memory>
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

    /// @param tls  null for a connection without TLS.
    stream(const net::any_io_executor& executor, std::shared_ptr<net::ssl::context> tls)
        : tls_context_(std::move(tls)), socket_(executor) {
        if (tls_context_) {
            tls_.emplace(socket_, *tls_context_);
        }
    }

    bool has_tls() const { return tls_.has_value(); }

    template <class Handler>
    void async_connect(const endpoint& where, Handler handler) {
        socket_.async_connect(where, std::move(handler));
    }

    /// Sends small requests at once.
    void set_no_delay() {
        error_code ignored; // a Unix socket has no such option
        std::ignore = socket_.set_option(net::ip::tcp::no_delay(true), ignored);
    }

    /// Precondition: there is TLS.
    /// @param name  the server's name, to ask for and, if `verify`, to check.
    template <class Handler>
    void async_handshake(const std::string& name, bool verify, Handler handler) {
        error_code is_name;
        std::ignore = net::ip::make_address(name, is_name);
        if (is_name) { // servers may refuse an address here
            ::SSL_ctrl(tls_->native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME,
                       TLSEXT_NAMETYPE_host_name, const_cast<char*>(name.c_str()));
        }
        if (verify) {
            tls_->set_verify_callback(net::ssl::host_name_verification(name));
        }
        tls_->async_handshake(net::ssl::stream_base::client, std::move(handler));
    }

    template <class Buffers, class Handler>
    void async_read_some(const Buffers& buffers, Handler handler) {
        if (tls_) {
            tls_->async_read_some(buffers, std::move(handler));
        } else {
            socket_.async_read_some(buffers, std::move(handler));
        }
    }

    template <class Buffers, class Handler>
    void async_write(const Buffers& buffers, Handler handler) {
        if (tls_) {
            net::async_write(*tls_, buffers, std::move(handler));
        } else {
            net::async_write(socket_, buffers, std::move(handler));
        }
    }

    /// Ends every operation.
    void close() {
        error_code ignored;
        std::ignore = socket_.close(ignored);
    }

private:
    std::shared_ptr<net::ssl::context> tls_context_;
    net::generic::stream_protocol::socket socket_;
    std::optional<net::ssl::stream<net::generic::stream_protocol::socket&>> tls_;
};

} // namespace detail
TRYST_REDIS_END
