// SPDX-License-Identifier: MIT
/// @file
/// A connection of this process to the Redis server in which its rooms meet those of other
/// processes.
/// Asio.
#pragma once

#include <tryst/redis/detail/net.hpp>
#include <tryst/redis/detail/room.hpp>
#include <tryst/redis/options.hpp>
#include <tryst/task.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

TRYST_REDIS_BEGIN

namespace detail {

class hub;
struct connection_access;

} // namespace detail

/// @addtogroup remote
/// @{

/// Connects this process to Redis, and keeps it connected: after a failure it tries again, first
/// after `options::backoff_min`. Any number of remote exchangers share one connection, which
/// sends their requests together.
///
/// Any thread may call any member at any time, except the constructor and the destructor.
///
/// The connection works on `executor`, one step at a time, whichever executor that is. Its context
/// has outstanding work until the connection is closed or destroyed. It must outlive the
/// connection, its exchangers and their operations.
///
/// @allocation  for each request that leaves the process. Exchanges within the process allocate
///   their coroutine frame only.
class connection {
public:
    /// Begins to connect. Does not wait, and does not throw if there is no server: see `connected`.
    /// @throws std::invalid_argument if the options contradict each other, and std::bad_alloc.
    explicit connection(const net::any_io_executor& executor, options chosen = {});

    /// Uses the executor of a context.
    template <std::derived_from<net::execution_context> Context>
    explicit connection(Context& context, options chosen = {})
        : connection(net::any_io_executor(context.get_executor()), std::move(chosen)) {}

    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    /// Closes the connection.
    ~connection();

    /// Waits until the connection is ready, or an attempt to connect has failed. Serves as a health
    /// check, too: it asks nothing of the server, which the connection observes all the time.
    /// @returns  success; or `unavailable`, with the reason in words.
    [[nodiscard]] task<remote_result<void, void>> connected() const;

    /// Whether the connection is ready now.
    bool is_connected() const noexcept;

    /// Why the connection is not ready, in words; empty if it is. Names the host, and never a
    /// password.
    std::string last_error() const;

    /// Ends the connection. Operations that Redis knows of complete with `in_doubt`, others with
    /// `unavailable`, and so do later ones while the context runs. To end without doubt, destroy
    /// the remote exchangers or stop their operations first, and wait for them. Idempotent.
    void close() noexcept;

private:
    friend detail::connection_access;

    std::shared_ptr<detail::hub> hub_;
};

/// @}

namespace detail {

/// For the remote exchangers.
struct connection_access {
    /// @throws std::invalid_argument if the name is empty or too long.
    static std::shared_ptr<detail::room> open_room(connection& through, detail::room_kind kind,
                                                   std::string_view name,
                                                   std::shared_ptr<detail::local_place> place);
};

} // namespace detail

TRYST_REDIS_END
