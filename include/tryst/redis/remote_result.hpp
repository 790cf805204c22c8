// SPDX-License-Identifier: MIT
/// @file
/// The result of a remote exchange: that of an exchange, and the reason for a failure in words.
/// Asio, only to choose the namespace.
#pragma once

#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/redis/detail/net.hpp>
#include <tryst/result.hpp>

#include <concepts>
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

/// @}
TRYST_REDIS_END
