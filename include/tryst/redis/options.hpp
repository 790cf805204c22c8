// SPDX-License-Identifier: MIT
/// @file
/// Where the Redis server is, and how to connect to it.
/// Asio, only to choose the namespace.
#pragma once

#include <tryst/redis/detail/net.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

TRYST_REDIS_BEGIN
/// @addtogroup remote
/// @{

/// The address of one Redis server.
struct address {
    std::string host = "localhost"; ///< A name, or an IPv4 or IPv6 address without brackets.
    std::uint16_t port = 6379; ///< Of TCP.
    std::string path = {}; ///< If not empty, a Unix socket; `host` and `port` are ignored.

    /// "host:port", "[IPv6 address]:port", or the path.
    std::string text() const;

    friend bool operator==(const address&, const address&) = default;
};

/// How a connection is encrypted.
struct tls_options {
    bool enabled = false; ///< Whether to use TLS. A `rediss` URL sets it.
    std::string ca_file = {}; ///< PEM; if empty, the certificate authorities of the system.
    std::string cert_file = {}; ///< PEM chain of the client's certificate; empty if it has none.
    std::string key_file = {}; ///< PEM key of the client's certificate.
    bool verify = true; ///< Whether to check the server's certificate and its name.
    std::string server_name = {}; ///< The name in the certificate; if empty, the address's host.
};

/// Where the Redis server is, and how to connect to it.
struct options {
    /// The servers to try in this order. The first that is a master is used, so list the replicas,
    /// too, in order to follow a failover.
    std::vector<address> hosts = {address{}};
    std::string user = {}; ///< If empty, the user `default` of Redis.
    std::string password = {}; ///< If `user` and `password` are empty, there is no AUTH.
    unsigned database = 0; ///< The number of the database in the server.
    tls_options tls = {}; ///< How the connection is encrypted, if it is.
    /// Bounds an attempt to connect to one host: name resolution, connection, TLS, and all checks.
    std::chrono::milliseconds connect_timeout{2000};
    /// The connection counts as broken if a request stays without reply and nothing arrives for
    /// this long, or up to a quarter longer. An idle connection is probed as often.
    std::chrono::milliseconds request_timeout{2000};
    /// The pause after a failed attempt: at first `backoff_min`, doubled after each failure up to
    /// `backoff_max`, and shortened at random by up to half.
    std::chrono::milliseconds backoff_min{50};
    std::chrono::milliseconds backoff_max{2000}; ///< See `backoff_min`.
    /// How long Redis keeps the parties of a process that has died or lost its connection. After a
    /// disconnection of one lease, parties that were in Redis end `in_doubt`. From 100 ms to a day.
    std::chrono::milliseconds lease{10'000};
    /// The largest item that leaves or enters the process, in bytes after encoding. Not 0.
    std::size_t max_item = std::size_t{1} << 20U;
    /// Items of up to this many bytes, after encoding, are in the message that wakes a waiting
    /// party; larger ones it collects by one more call. If 0, all are collected: then users of
    /// Redis who may only subscribe see no item.
    std::size_t published_item = 4096;
    std::string key_prefix = "tryst"; ///< The beginning of every key and channel in Redis.

    /// Parses a URL of one of the forms
    ///
    ///     redis://[[user]:password@]host[:port][,host[:port]...][/database][?name=value&...]
    ///     rediss://...                          the same with TLS
    ///     unix://[[user]:password@]/path[?db=number&...]
    ///
    /// The names after `?` are `db`, `timeout` (sets both timeouts), `connect_timeout`,
    /// `request_timeout`, `backoff_min`, `backoff_max`, `lease`, `max_item` and `published_item`
    /// (in bytes), `prefix`, and for `rediss` also `ca_file`, `cert_file`, `key_file`, `verify`
    /// (`true` or `false`) and `server_name`. Durations have a unit: `500ms`, `2s`. Every part may
    /// be percent-encoded; an IPv6 address is in brackets.
    /// @throws std::invalid_argument that names the wrong part. It never shows a password.
    static options from_url(std::string_view url);
};

/// @}
TRYST_REDIS_END
