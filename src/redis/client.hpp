// SPDX-License-Identifier: MIT
/// @file
/// The connection of a process to Redis: calls of one script, and messages of one channel.
/// Asio, hiredis, OpenSSL.
#pragma once

#include "call_reply.hpp"
#include "link.hpp"
#include "server_info.hpp"
#include "slot.hpp"

#include <tryst/redis/options.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

TRYST_REDIS_BEGIN
namespace detail {

/* The client
 *   idle ---start---> connecting
 *   connecting ------> ready       both links have passed their handshakes         on_ready
 *   connecting ------> pausing     no host of the options can be used              on_down
 *   ready -----------> draining    a reply says that this is no longer the master
 *   ready, draining -> pausing     a link is broken, or nothing is left to drain   on_lost
 *   pausing ---------> connecting  after the backoff
 *   any ----stop-----> stopped
 *
 * There are two links to the same server: one for calls, one for messages, because a RESP2
 * connection with a subscription cannot do anything else. If one breaks, both are closed.
 *
 * A node of a cluster redirects calls that belong to another node; it has not executed them. There
 * is one more link to each such node. If it breaks, all links are closed. One subscription is
 * enough, because a cluster publishes everywhere.
 *
 * All members are used on the strand. Operations in flight own the client, until `stop`. */

/// The connection of a process to Redis. Reconnects by itself.
class client : public std::enable_shared_from_this<client>, private link::owner {
public:
    using handler = std::function<void(const call_reply&)>;

    /// Called on the strand.
    class observer {
    public:
        observer() = default;
        observer(const observer&) = delete;
        observer& operator=(const observer&) = delete;

        /// Connected, authenticated, subscribed, and the script is loaded. `epoch()` has grown by
        /// one. Messages that were published before are lost.
        virtual void on_ready() = 0;
        /// The connection broke; `error()` says why. The handlers of its calls have been called.
        virtual void on_lost() = 0;
        /// An attempt to connect failed; `error()` says why, and names host and port. The client
        /// goes on trying.
        virtual void on_down() = 0;
        /// Somebody has published `text` to `channel()`.
        virtual void on_message(std::string_view text) = 0;

    protected:
        ~observer() = default;
    };

    /// @param process  names this process in `channel()`.
    /// @param script  is copied.
    /// @param who  must outlive `stop`, or the execution context of `executor`.
    client(const net::any_io_executor& executor, options chosen, std::string process,
           std::string_view script, observer& who);

    /// Begins to connect. By any thread, once.
    void start();

    /// Closes the connection. On the strand. Calls the handlers of pending calls before it returns;
    /// then neither they nor the observer are called again.
    void stop();

    const link::strand_type& strand() const { return strand_; }

    /// Whether calls are sent.
    bool ready() const { return state_ == state::ready; }
    /// Whether the last attempt to connect failed.
    bool down() const { return is_down_; }
    /// Why the client is not ready; empty if it is, or if nothing has failed yet.
    const std::string& error() const { return error_; }
    /// The number of the connection: 1 for the first. Grows before `on_ready`.
    std::uint64_t epoch() const { return epoch_; }
    /// Identifies the run of the server to which the client connected last.
    const std::string& run_id() const { return info_.run_id; }
    /// The channel of this process.
    std::string channel() const { return options_.key_prefix + ":wake:" + process_; }

    /// What to do if another node of a cluster serves the slot of a call: call there, or tell the
    /// handler that nothing was sent.
    enum class when_moved : bool { follow, stay };

    /// Calls the script. On the strand. The handler is called once, on the strand, never before
    /// this returns; if the client is not ready, it gets `unsent`.
    ///
    /// Redis executes the calls in their order, with two exceptions: after a flush of its scripts,
    /// or when a cluster moves a slot, a call is sent a second time; later ones may overtake it.
    void call(std::span<const std::string> keys, std::span<const std::string_view> arguments,
              handler answer, when_moved then = when_moved::follow);

private:
    enum class state : std::uint8_t { idle, connecting, ready, draining, pausing, stopped };

    void on_broken(link& broken, const std::string& why) override;
    void on_published(std::string_view text) override;
    bool on_refused(link& where, std::string_view error, const link::request& what) override;

    void connect();
    void connect_to_host();
    void check_server();
    void load_script();
    void subscribe(const stream::endpoint& same);
    void become_ready();
    void fail_host(const std::string& why);
    void lose(const std::string& why);
    void drain(std::string_view why);
    void finish_draining();
    void close_links(std::string_view why);
    void pause();
    void tick();

    std::shared_ptr<link> make_link(link::role purpose, const address& where);
    std::shared_ptr<link> link_for(std::span<const std::string> keys);
    std::shared_ptr<link> link_to_node(const address& where);
    bool redirect(const redirection& target, const link::request& what);
    bool repeat_with_script(link& where, const link::request& what);
    std::vector<std::shared_ptr<link>> links() const;
    void authenticate(link& through);
    template <class Next>
    void request(link& through, std::initializer_list<std::string_view> words, std::string problem,
                 Next next);
    template <class Action>
    void after(std::chrono::nanoseconds pause, Action action);
    double random_fraction();

    const options options_;
    const std::string process_;
    const std::string script_;
    observer& observer_;
    const link::strand_type strand_;
    net::steady_timer timer_; ///< Of the attempt, of ticks, or of the backoff.
    std::uint64_t timer_use_ = 0; ///< Tells a timer's handler that it is out of date.
    std::minstd_rand random_;

    state state_ = state::idle;
    bool is_down_ = false;
    std::string error_;
    std::uint64_t epoch_ = 0;
    unsigned failures_ = 0; ///< In succession, of connections that failed or soon broke.
    std::chrono::steady_clock::time_point ready_since_;

    // Of the present attempt or connection.
    std::uint64_t attempt_ = 0; ///< Tells handlers of a handshake that they are out of date.
    std::size_t host_ = 0; ///< The index in `options_.hosts`.
    std::string host_errors_;
    std::shared_ptr<net::ssl::context> tls_;
    std::weak_ptr<link> calls_;
    std::weak_ptr<link> messages_;
    std::map<std::string, std::weak_ptr<link>> nodes_; ///< Of a cluster, by address.
    std::vector<std::weak_ptr<link>> slots_; ///< Of a cluster, as far as known; or empty.
    server_info info_;
    server_info other_info_; ///< As the link for messages sees the server.
    std::string call_prefix_; ///< Of every call, after the number of its words.
};

} // namespace detail
TRYST_REDIS_END
