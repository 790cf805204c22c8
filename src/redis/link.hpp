// SPDX-License-Identifier: MIT
/// @file
/// One connection to a Redis server, with pipelined requests.
/// Asio, OpenSSL.
#pragma once

#include "resp.hpp"

#include <tryst/redis/options.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include TRYST_ASIO_HEADER(awaitable)
#include TRYST_ASIO_HEADER(buffer)
#include TRYST_ASIO_HEADER(co_spawn)
#include TRYST_ASIO_HEADER(error)
#include TRYST_ASIO_HEADER(redirect_error)
#include TRYST_ASIO_HEADER(ssl)
#include TRYST_ASIO_HEADER(steady_timer)
#include TRYST_ASIO_HEADER(write)
#ifdef TRYST_BOOST_ASIO
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#else
#include <asio/generic/stream_protocol.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#endif

TRYST_REDIS_BEGIN
namespace detail {

/// What the handler of a call gets. Valid while the handler runs.
struct call_reply {
    enum class kind : std::uint8_t {
        answered, ///< The script ran; `value` is its reply.
        refused, ///< Redis replied with `error` before the script wrote anything.
        lost, ///< The connection broke, because of `error`; the script may or may not have run.
        unsent ///< Nothing was sent, because of `error`.
    };
    kind what;
    const reply* value; ///< Null unless answered.
    std::string_view error; ///< Empty if answered.
};

/// Starts a coroutine on the strand. What it throws leaves the execution context's `run`.
void spawn(const net::strand<net::any_io_executor>& strand, net::awaitable<void> work);

/* A link
 *   connects, agrees on TLS, greets the server, and then reads replies and messages until it is
 *   closed: one coroutine, `run`. The greeting is one write: HELLO 3 with AUTH, SCRIPT LOAD,
 *   and, if there is any need, SELECT and SUBSCRIBE.
 *
 * Requests
 *   queued --flush--> handed to writes --reply--> answered or refused
 *
 *  1. Requests are appended to the last batch, and a flush hands the batch to writes. It comes
 *     after the replies that have arrived, or is posted. So all requests of one turn of the
 *     strand, or of the time of the last write, go together.
 *  2. Redis answers in the order of the requests. So the oldest pending request owns each reply.
 *  3. A batch is kept until all of its requests are answered, because a request may have to be
 *     sent again, perhaps to another server.
 *  4. Positions count the bytes of all requests of the connection. If it breaks, a request that
 *     begins before the end of what was handed to writes may have been executed ("lost").
 *     The others were not sent ("unsent").
 *
 * The client has a weak pointer to its link: pending operations own it. So when an execution
 * context is destroyed, the link and the handlers of its requests go with the operations. */
class link : public std::enable_shared_from_this<link> {
public:
    using handler = std::function<void(const call_reply&)>;
    using strand_type = net::strand<net::any_io_executor>;

    struct request {
        handler answer; ///< Called once, never before `end_request` returns; may be null.
        bool is_call = false; ///< Whether to ask the owner about refusals.
        bool stays = false; ///< Whether it must not be sent to another node.
        bool has_loaded = false; ///< Whether the script was loaded again for it.
        unsigned char redirections = 0;
        std::uint64_t begin = 0; ///< Set by `end_request`, as is `end`.
        std::uint64_t end = 0;
    };

    /// The owner of a link. Functions are called on the strand, and none after `close`.
    class owner {
    public:
        owner() = default;
        owner(const owner&) = delete;
        owner& operator=(const owner&) = delete;
        virtual ~owner() = default;

        /// Connected and greeted.
        virtual void on_open(link& opened) = 0;
        /// The connection cannot be used any more. The owner calls `close`.
        virtual void on_broken(link& broken, const std::string& why) = 0;
        virtual void on_published(std::string_view channel, std::string_view text) = 0;
        /// Redis refused a call with `error`.
        /// @param bytes  the whole command.
        /// @returns whether the owner has taken over `what`.
        virtual bool on_refused(link& where, std::string_view error, std::string_view bytes,
                                request& what) = 0;
    };

    /// @param channels  to subscribe to; one link of a cluster is enough for messages.
    link(const strand_type& strand, const options& chosen, address where, std::string_view script,
         std::vector<std::string> channels, std::shared_ptr<owner> who);
    link(const link&) = delete;
    link& operator=(const link&) = delete;

    /// Begins to connect. Requests may be queued before it is done.
    void open();

    const address& where() const { return where_; }
    /// As the server says. Valid when the link is open.
    bool is_in_cluster() const { return is_in_cluster_; }
    /// The script's name in the server. Valid when the link is open.
    const std::string& script_hash() const { return script_hash_; }

    /// The buffer to append a command to. Call `end_request` right after that.
    std::string& begin_request();
    void end_request(request what);
    void send(std::initializer_list<std::string_view> words);
    /// Sends the script, unless that was done after the request at `since` was sent.
    void load_script(std::uint64_t since);

    bool has_pending() const { return !pending_.empty(); }

    /// To be called `ticks_per_timeout` times in each request_timeout. Counting, instead of looking
    /// at the clock, tolerates that this process itself was suspended.
    void tick();
    static constexpr unsigned ticks_per_timeout = 4;

    /// Closes the connection, and calls the handlers of pending requests.
    void close(std::string_view why);

private:
    /// Of the text of a server, in an error.
    static constexpr std::size_t max_quotation = 200;

    using clock = std::chrono::steady_clock;
    using endpoint = net::generic::stream_protocol::endpoint;

    struct batch {
        std::uint64_t begin;
        std::string bytes;
        std::uint64_t end() const { return begin + bytes.size(); }
    };

    // Connecting: link_connecting.cpp.
    net::awaitable<void> run(std::shared_ptr<link> self);
    void close_at(clock::time_point when);
    net::awaitable<std::vector<endpoint>> resolve();
    net::awaitable<void> connect();
    void use_tls(const tls_options& chosen);
    net::awaitable<void> greet();
    net::awaitable<const reply*> next_reply(std::string_view push = {});
    void check_hello(const reply& hello);
    void check(const reply& answer, const std::string& problem) const;

    net::awaitable<void> serve();
    net::awaitable<void> read_more();
    void flush();
    void write();
    void on_reply(const reply& next);
    void release_batches();
    int count_undelivered();
    void close_socket();
    void fail(const std::string& why);
    std::string ending(const error_code& error) const;

    const options options_;
    const address where_;
    const std::string script_;
    const std::vector<std::string> channels_;
    std::shared_ptr<owner> owner_; ///< Null once closed.
    const strand_type strand_;
    std::optional<net::ssl::context> tls_context_;
    net::generic::stream_protocol::socket socket_;
    std::optional<net::ssl::stream<net::generic::stream_protocol::socket&>> tls_; ///< If chosen.
    net::ip::tcp::resolver resolver_;
    net::steady_timer timer_; ///< Of connecting.
    clock::time_point deadline_; ///< Likewise.
    const char* stage_ = "cannot connect"; ///< The problem if connecting ends now.
    bool is_in_cluster_ = false;
    std::string script_hash_;

    reply_reader reader_;
    std::deque<request> pending_;
    std::deque<batch> batches_;
    std::string spare_; ///< The memory of the last released batch.
    std::uint64_t queued_ = 0; ///< The end of the last request.
    std::uint64_t handed_ = 0; ///< The end of what was handed to writes.
    std::uint64_t written_ = 0; ///< The end of what was written.
    std::uint64_t loaded_at_ = 0; ///< Where the script was sent last.
    int undelivered_ = 0; ///< As of the last tick.
    unsigned silent_ticks_ = 0; ///< Ticks without progress while a request is pending.
    unsigned ticks_ = 0;
    bool is_open_ = false; ///< Connected and greeted.
    bool has_replied_ = false;
    bool is_flush_coming_ = false;
};

} // namespace detail
TRYST_REDIS_END
