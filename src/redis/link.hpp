// SPDX-License-Identifier: MIT
/// @file
/// One connection to a Redis server, with pipelined requests.
/// Asio, hiredis, OpenSSL.
#pragma once

#include "call_reply.hpp"
#include "reply_reader.hpp"
#include "stream.hpp"

#include <tryst/redis/options.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

TRYST_REDIS_BEGIN
namespace detail {

/* Requests
 *   queued --flush--> handed to a write --reply--> answered or refused
 *
 *  1. Requests are appended to the last batch, and a posted flush hands the batch to a write. So
 *     all requests of one turn of the strand, or of the time of the last write, are one write.
 *  2. Redis answers in the order of the requests. So the oldest pending request owns each reply.
 *  3. A batch is kept until all of its requests are answered, because a request may have to be
 *     sent again, to another server or in another form.
 *  4. Positions count the bytes of all requests of the connection. If it breaks, a request that
 *     begins before the end of what was handed to a write may have been executed ("lost").
 *     The others were not sent ("unsent").
 *
 * The client has a weak pointer to its link: pending operations own it. So when an execution
 * context is destroyed, the link and the handlers of its requests go with the operations. */
class link : public std::enable_shared_from_this<link> {
public:
    using handler = std::function<void(const call_reply&)>;
    using strand_type = net::strand<net::any_io_executor>;

    /// A request that its receiver may send again.
    struct request {
        std::string_view bytes; ///< The whole command.
        handler* answer; ///< To be moved from if the receiver takes over the request.
        unsigned redirections; ///< As given to `end_request`.
    };

    /// The owner of a link. Functions are called on the strand, and none after `close`.
    class owner {
    public:
        owner() = default;
        owner(const owner&) = delete;
        owner& operator=(const owner&) = delete;
        virtual ~owner() = default;

        /// The connection cannot be used any more. The owner calls `close`.
        virtual void on_broken(link& broken, const std::string& why) = 0;
        /// A message of a subscribed channel.
        virtual void on_published(std::string_view text) = 0;
        /// Redis refused a call with `error`.
        /// @returns whether the owner has taken over `what`.
        virtual bool on_refused(link& where, std::string_view error, const request& what) = 0;
    };

    enum class role : std::uint8_t { calls, messages };

    /// @param tls  null for a connection without TLS.
    link(const strand_type& strand, const options& chosen, address where,
         std::shared_ptr<net::ssl::context> tls, std::shared_ptr<owner> who, role purpose);
    link(const link&) = delete;
    link& operator=(const link&) = delete;

    /// Resolves the name, connects, and encrypts. Requests may be queued before it is done.
    void open();
    /// The same, without resolving the name: for a second connection to the same server.
    /// The caller bounds the time of both.
    void open(const stream::endpoint& where);

    const address& where() const { return where_; }
    /// What the link is waiting for.
    const std::string& stage() const { return stage_; }
    /// The endpoint of the connection. Valid from the first reply on.
    const stream::endpoint& endpoint() const { return endpoints_[next_endpoint_ - 1]; }

    /// The buffer to append a command to. Call `end_request` right after that.
    std::string& begin_request();
    /// @param answer  called once, never before this returns; may be null.
    /// @param is_call  whether to ask the owner about refusals.
    /// @param redirections  how often this call was sent before.
    void end_request(handler answer, bool is_call, unsigned redirections = 0);
    void send(std::initializer_list<std::string_view> words, handler answer);

    bool has_pending() const { return !pending_.empty(); }

    /// To be called `ticks_per_timeout` times in each request_timeout. Counting, instead of looking
    /// at the clock, tolerates that this process itself was suspended.
    void tick();
    static constexpr unsigned ticks_per_timeout = 4;

    /// Closes the connection, and calls the handlers of pending requests.
    void close(std::string_view why);

private:
    struct batch {
        std::uint64_t begin;
        std::string bytes;
    };
    struct pending_request {
        std::uint64_t begin;
        std::uint64_t end;
        handler answer;
        bool is_call;
        unsigned char redirections;
    };

    void connect_next();
    void handshake();
    void on_open();
    void flush();
    void read();
    void on_read(std::size_t count);
    void on_reply(reply_ptr reply);
    void release_batches();
    void fail(const std::string& why);
    std::string ending(const error_code& error) const;

    std::chrono::milliseconds connect_timeout_;
    std::string server_name_;
    bool verify_;
    address where_;
    std::shared_ptr<owner> owner_; ///< Null once closed.
    strand_type strand_;
    stream stream_;
    net::ip::tcp::resolver resolver_;
    net::steady_timer connect_timer_;
    std::chrono::steady_clock::time_point connect_deadline_;
    std::vector<stream::endpoint> endpoints_;
    std::size_t next_endpoint_ = 0;
    std::string stage_; ///< What the link is waiting for before all replies of a handshake.

    reply_reader reader_;
    std::vector<char> input_;
    std::deque<pending_request> pending_;
    std::deque<batch> batches_;
    std::string spare_; ///< The memory of the last released batch.
    std::uint64_t queued_ = 0; ///< The end of the last request.
    std::uint64_t handed_ = 0; ///< The end of what was handed to a write.
    std::uint64_t written_ = 0; ///< The end of what was written.
    unsigned silent_ticks_ = 0; ///< Ticks without progress while a request is pending.
    unsigned ticks_ = 0;
    const bool is_subscriber_;
    bool is_connected_ = false;
    bool is_open_ = false; ///< Connected, and encrypted if it must be.
    bool has_replied_ = false;
    bool is_flush_posted_ = false;
};

} // namespace detail
TRYST_REDIS_END
