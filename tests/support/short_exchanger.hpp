// SPDX-License-Identifier: MIT
/// @file
/// A red-blue exchanger at any wait list: in a queue of short segments their ends are met all the
/// time.
#pragma once

#include <tryst/detail/meet/dual_queue.hpp>
#include <tryst/detail/meet/dual_stack.hpp>
#include <tryst/detail/meet/eliminating.hpp>
#include <tryst/detail/meet/fifo.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/exchange_operation.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace tryst::test {

/// What red_blue_exchanger does, for items of one type.
template <class WaitList, class T>
class short_exchanger {
    using protocol = detail::protocol<WaitList>;
    using reds = detail::factory<detail::side<WaitList, T, T, detail::colour::red>>;
    using blues = detail::factory<detail::side<WaitList, T, T, detail::colour::blue>>;

public:
    explicit short_exchanger(std::size_t capacity = 0)
        : protocol_(std::make_unique<protocol>(capacity)) {}

    template <class... Limit>
    [[nodiscard]] auto red(T item, Limit... limit) noexcept {
        return reds::make_exchange(*protocol_, std::move(item), std::move(limit)...);
    }
    auto try_red(T item) noexcept { return reds::try_exchange(*protocol_, std::move(item)); }

    template <class... Limit>
    [[nodiscard]] auto blue(T item, Limit... limit) noexcept {
        return blues::make_exchange(*protocol_, std::move(item), std::move(limit)...);
    }
    auto try_blue(T item) noexcept { return blues::try_exchange(*protocol_, std::move(item)); }

    void close() noexcept { protocol_->close(); }
    bool is_closed() const noexcept { return protocol_->is_closed(); }

    detail::protocol<WaitList>& inside() noexcept { return *protocol_; }

private:
    std::unique_ptr<protocol> protocol_;
};

/// Two cells to a segment.
template <class T>
using short_queue_exchanger = short_exchanger<detail::basic_dual_queue<1>, T>;

} // namespace tryst::test
