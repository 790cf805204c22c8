// SPDX-License-Identifier: MIT
/// @file
/// What remote exchangers and channels return.
/// Asio, only to choose the namespace.
#pragma once

#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/redis/detail/net.hpp>
#include <tryst/result.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

TRYST_REDIS_BEGIN
/// @addtogroup remote
/// @{

/// An `exchange_result` that also says in words why an exchange was `unavailable` or `in_doubt`.
/// Each failure hands your own item back. After `in_doubt` this is a copy: the partner may have the
/// item, too.
template <class T, class Own = T>
class [[nodiscard]] remote_result : public exchange_result<T, Own> {
    using base = exchange_result<T, Own>;

public:
    using base::base;

    /// Only because Asio's coroutines need it: `unavailable`, with a default-constructed item.
    remote_result()
        requires(std::default_initializable<tryst::detail::object_t<Own>>)
        : base(exchange_errc::unavailable, tryst::detail::object_t<Own>()) {}

    /// The result of an exchange with a partner in the same process.
    explicit remote_result(base&& local) noexcept : base(std::move(local)) {}

    /// A failure with an explanation.
    remote_result(exchange_errc error, tryst::detail::object_t<Own>&& own,
                  std::string reason) noexcept
        : base(error, std::move(own)),
          reason_(std::make_shared<const std::string>(std::move(reason))) {}

    /// What went wrong, with the host, the room and the limit that was exceeded; empty if there is
    /// nothing to add to `error().message()`.
    std::string reason() const { return reason_ ? *reason_ : std::string(); }

private:
    std::shared_ptr<const std::string> reason_; ///< Null after most exchanges; cheap to move.
};

/// The state of a room over all processes, as `statistics()` reports it.
struct room_statistics {
    std::size_t waiting = 0; ///< Parties that wait in Redis; of red and blue parties, the red ones.
    std::size_t waiting_blue = 0; ///< Blue parties, or receivers, that wait in Redis.
    /// Exchangers of processes that have offered something here and exist. One whose process has
    /// died is counted for about six leases, and a minute.
    std::size_t processes = 0;
    std::size_t exchanges = 0; ///< Pairs that have met in Redis.
};

/// @}
TRYST_REDIS_END
