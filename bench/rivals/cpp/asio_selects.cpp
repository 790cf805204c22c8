// SPDX-License-Identifier: MIT
// A choice of Asio's unbuffered channels: with the awaitable operator ||, which may lose items, and
// with a parallel group, which does not.
#include "asio_channels.hpp"
#include "selects.hpp"

#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/awaitable.hpp>
#include <asio/bind_executor.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/deferred.hpp>
#include <asio/experimental/parallel_group.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>
#include <variant>

namespace tryst::bench {
namespace {

/// An item that tells the ledger if it is destroyed before a receiver has taken it.
class parcel {
public:
    parcel() = default;
    parcel(item it, ledger& all) : it_(it), all_(&all) {}
    parcel(parcel&& other) noexcept : it_(other.it_), all_(std::exchange(other.all_, nullptr)) {}
    parcel& operator=(parcel&& other) noexcept {
        std::swap(it_, other.it_);
        std::swap(all_, other.all_);
        return *this;
    }
    ~parcel() {
        if (all_ != nullptr) {
            all_->lost(it_);
        }
    }

    item take() noexcept {
        all_ = nullptr;
        return it_;
    }

private:
    item it_ = 0;
    ledger* all_ = nullptr;
};

template <class Executor>
using unlocked_parcels =
    net::experimental::basic_channel<Executor, net::experimental::channel_traits<>,
                                     void(std::error_code, parcel)>;
template <class Executor>
using locked_parcels =
    net::experimental::basic_concurrent_channel<Executor, net::experimental::channel_traits<>,
                                                void(std::error_code, parcel)>;

/// Each wait is an awaitable; `||` cancels all others when the first has ended. If another has
/// received an item by then, this item is lost.
template <class Channel, std::size_t N>
class by_operator {
    using use_awaitable = net::use_awaitable_t<typename Channel::executor_type>;
    static constexpr net::experimental::as_tuple_t<use_awaitable> with_error{use_awaitable()};

public:
    static constexpr std::size_t count = N;
    static constexpr bool loses_items = true;

    template <class Place>
    by_operator(const Place& place, ledger& all)
        : all_(all), channels_(make_array<Channel, N>(place.get_executor())) {}

    auto send(std::size_t turn, item it) {
        return channels_[turn].async_send(std::error_code(), parcel(it, all_), use_awaitable());
    }
    auto receive() {
        using namespace net::experimental::awaitable_operators;
        return std::apply([](auto&... each) { return (... || each.async_receive(with_error)); },
                          channels_);
    }
    template <class Got, class Take>
    static bool received(Got& got, Take take) {
        return std::visit(
            [&](auto& first) {
                auto& [error, it] = first;
                if (error) {
                    return false;
                }
                take(it.take());
                return true;
            },
            got);
    }
    void close() { std::ranges::for_each(channels_, &Channel::close); }

private:
    ledger& all_;
    std::array<Channel, N> channels_;
};

/// The results of a parallel group of N waits: the order of completion, then an error and an item
/// of each wait.
template <std::size_t Waits, class... Results>
struct group_results : group_results<Waits - 1, Results..., std::error_code, item> {};
template <class... Results>
struct group_results<0, Results...> {
    using tuple = std::tuple<Results...>;
    using signature = void(Results...);
};
template <std::size_t N>
using results_of = group_results<N, std::array<std::size_t, N>>;

/// A parallel group ends when all waits have ended, and returns the results of all. So a receiver
/// may get several items at once.
template <class Channel, std::size_t N>
class channels_of_group {
public:
    static constexpr std::size_t count = N;

    template <class Place>
    channels_of_group(const Place& place, ledger& /*all*/)
        : channels_(make_array<Channel, N>(place.get_executor())) {}

    auto send(std::size_t turn, item it) {
        return channels_[turn].async_send(std::error_code(), it, use_awaitable());
    }
    template <class Take>
    static bool received(const typename results_of<N>::tuple& got, Take take) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            const auto one = [&](std::error_code error, item it) {
                if (!error) {
                    take(it);
                }
                return !error;
            };
            return (one(std::get<2 * I + 1>(got), std::get<2 * I + 2>(got)) | ...);
        }(std::make_index_sequence<N>());
    }
    void close() { std::ranges::for_each(channels_, &Channel::close); }

protected:
    using use_awaitable = net::use_awaitable_t<typename Channel::executor_type>;

    std::array<Channel, N> channels_;
};

template <class Channel, std::size_t N>
class in_group : public channels_of_group<Channel, N> {
    using base = channels_of_group<Channel, N>;

public:
    using base::base;

    auto receive() {
        return std::apply(
            [](auto&... each) {
                return net::experimental::make_parallel_group(
                           each.async_receive(net::experimental::deferred)...)
                    .async_wait(net::experimental::wait_for_one(), typename base::use_awaitable());
            },
            this->channels_);
    }
};

/// For receivers on several contexts. The waits end on the receiver's own context; otherwise they
/// would end on the channel's, which may have come to its end.
template <class Channel, std::size_t N>
class in_bound_group : public channels_of_group<Channel, N> {
    using base = channels_of_group<Channel, N>;
    using use_awaitable = typename base::use_awaitable;

public:
    using base::base;

    net::awaitable<typename results_of<N>::tuple, typename Channel::executor_type> receive() {
        return net::async_initiate<use_awaitable, typename results_of<N>::signature>(
            [this](auto handler) {
                const auto bound = [on = net::get_associated_executor(handler)](Channel& each) {
                    return net::bind_executor(on, each.async_receive(net::experimental::deferred));
                };
                std::apply(
                    [&](auto&... each) {
                        net::experimental::make_parallel_group(bound(each)...)
                            .async_wait(net::experimental::wait_for_one(), std::move(handler));
                    },
                    this->channels_);
            },
            token_);
    }

private:
    use_awaitable token_;
};

/// As an experienced user would write it: `try_` first serves a waiting partner without a turn of
/// the context.
template <class Base>
class trying_all : public Base {
public:
    using Base::Base;

    bool send_at_once(std::size_t turn, item it) {
        return this->channels_[turn].try_send(std::error_code(), it);
    }
    /// Tries all, beginning with another each time.
    std::optional<item> receive_at_once(std::size_t turn) {
        std::optional<item> got;
        for (std::size_t i = 0; i != Base::count && !got; ++i) {
            this->channels_[(turn + i) % Base::count].try_receive(
                [&](std::error_code error, item it) {
                    if (!error) {
                        got = it;
                    }
                });
        }
        return got;
    }
};

using executor = net::io_context::executor_type;

template <std::size_t N>
using operator_alone = by_operator<unlocked_parcels<executor>, N>;
template <std::size_t N>
using operator_shared = by_operator<locked_parcels<executor>, N>;
template <std::size_t N>
using group_alone = in_group<unlocked<executor>, N>;
template <std::size_t N>
using group_shared = in_bound_group<locked<executor>, N>;
template <std::size_t N>
using tried_alone = trying_all<group_alone<N>>;
template <std::size_t N>
using tried_shared = trying_all<group_shared<N>>;

const enrolment operators("asio::experimental::channel, awaitable operators (loses items)",
                          {{"select-tasks", on_either<selects<lonely_io_context, operator_alone>,
                                                      selects<io_contexts, operator_shared>>}});

const enrolment groups(
    "asio::experimental::channel, parallel group",
    {{"select-tasks",
      on_either<selects<lonely_io_context, group_alone>, selects<io_contexts, group_shared>>}});

const enrolment groups_tried(
    "asio::experimental::channel, parallel group, try_ first",
    {{"select-tasks",
      on_either<selects<lonely_io_context, tried_alone>, selects<io_contexts, tried_shared>>}});

} // namespace
} // namespace tryst::bench
