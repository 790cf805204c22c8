// SPDX-License-Identifier: MIT
/// @file
/// The connection of a process to Redis: calls of one script, and messages of some channels.
/// Asio, OpenSSL.
#pragma once

#include "link.hpp"
#include "slot.hpp"

#include <tryst/redis/options.hpp>

#include <chrono>
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

/* The client is one coroutine, `run`, which connects, watches the connection and pauses. It waits
 * for its timer, which is cancelled when something else changes the state:
 *   connecting ------> ready       a link is open
 *   connecting ------> pausing     no host of the options can be used
 *   ready -----------> draining    a reply says that this is no longer the master
 *   ready, draining -> pausing     a link is broken, or nothing is left to drain
 *   pausing ---------> connecting  after the backoff
 *   any ----stop-----> stopped
 *
 * A node of a cluster redirects calls that belong to another node; it has not executed them. There
 * is one more link to each such node. If it breaks, all links are closed. One subscription is
 * enough, because a cluster publishes everywhere.
 *
 * All members are used on the strand. Operations in flight own the client, until `stop`. */

/// Whether the client looks for another server after this error.
bool says_no_master(std::string_view error);

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

        /// It is now `ready()`: connected, authenticated, subscribed, and the script is loaded;
        /// `epoch()` has grown by one, and messages that were published before are lost. Or the
        /// connection broke, after the handlers of its calls were called. Or it is `down()`: an
        /// attempt to connect failed, and `error()` names host and port. It goes on trying.
        virtual void on_change() = 0;
        /// Somebody has published `text` to one of the channels.
        virtual void on_message(std::string_view channel, std::string_view text) = 0;

    protected:
        ~observer() = default;
    };

    /// @param channels  whose messages the observer gets.
    /// @param script  is copied.
    /// @param who  must outlive `stop`, or the execution context of `executor`.
    client(const net::any_io_executor& executor, options chosen, std::vector<std::string> channels,
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
    /// The number of the connection: 1 for the first. Grows before it is ready.
    std::uint64_t epoch() const { return epoch_; }
    /// Whether the server is a node of a cluster. Valid when ready.
    bool in_cluster() const { return is_in_cluster_; }

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
    enum class state : std::uint8_t { connecting, ready, draining, pausing, stopped };

    void on_open(link& opened) override;
    void on_broken(link& broken, const std::string& why) override;
    void on_published(std::string_view channel, std::string_view text) override;
    bool on_refused(link& where, std::string_view error, std::string_view bytes,
                    link::request& what) override;

    net::awaitable<void> run(std::shared_ptr<client> self);
    template <class Step>
    void go_on_after(Step step);
    net::awaitable<bool> wait(std::chrono::nanoseconds time);
    std::chrono::nanoseconds backoff();
    void lose(const std::string& why);
    void drain(std::string_view why);
    void finish_draining();
    void close_links(std::string_view why);

    std::shared_ptr<link> open_link(const address& where, std::vector<std::string> channels);
    std::shared_ptr<link> link_for(std::span<const std::string> keys);
    std::shared_ptr<link> link_to_node(const address& where);
    bool redirect(const redirection& target, std::string_view bytes, link::request& what);
    std::vector<std::shared_ptr<link>> links() const;

    const options options_;
    const std::vector<std::string> channels_;
    const std::string script_;
    observer& observer_;
    const link::strand_type strand_;
    net::steady_timer timer_; ///< What `run` waits for.
    std::minstd_rand random_;

    state state_ = state::connecting;
    bool is_down_ = false;
    std::string error_;
    std::uint64_t epoch_ = 0;
    unsigned failures_ = 0; ///< In succession, of connections that failed or soon broke.
    std::chrono::steady_clock::time_point ready_since_;

    // Of the present attempt or connection.
    std::string host_; ///< One of `options_.hosts`.
    std::string host_errors_;
    bool is_in_cluster_ = false;
    std::weak_ptr<link> main_; ///< To the host.
    std::map<std::string, std::weak_ptr<link>> nodes_; ///< Of a cluster, by address.
    std::vector<std::weak_ptr<link>> slots_; ///< Of a cluster, as far as known; or empty.
    std::string call_prefix_; ///< Of every call, after the number of its words.
};

} // namespace detail
TRYST_REDIS_END
