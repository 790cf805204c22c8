// SPDX-License-Identifier: MIT
/// @file
/// What all remote exchangers and channels have: the two levels at which their parties meet.
/// Asio, only to choose the namespace.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/time.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/redis/connection.hpp>
#include <tryst/redis/detail/local_place.hpp>
#include <tryst/redis/detail/party.hpp>
#include <tryst/redis/detail/room.hpp>
#include <tryst/redis/remote_result.hpp>
#include <tryst/result.hpp>
#include <tryst/task.hpp>
#include <tryst/wait_limit.hpp>

#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

TRYST_REDIS_BEGIN
/// @addtogroup remote
/// @{

/// What all remote exchangers and channels have: a place for the parties of this process, and the
/// room beyond it.
/// @tparam Kind  the sides and their items.
template <class Kind>
class remote_place {
public:
    remote_place(const remote_place&) = delete;
    remote_place& operator=(const remote_place&) = delete;

    /// Closes the room in all processes. Each party that waits or arrives later gets `closed`. The
    /// other processes learn of it through Redis, if need be when this process is connected again.
    /// A name that no process has used for six leases, and a minute, can be used again.
    void close() noexcept {
        place_->close();
        beyond_->close();
    }

    /// Whether this process knows that the room is closed.
    bool is_closed() const noexcept { return place_->is_closed(); }

    /// The state of the room over all processes.
    [[nodiscard]] task<remote_result<room_statistics, void>> statistics() const {
        return beyond_->count();
    }

    /// @cond
protected:
    /// @throws std::invalid_argument if the name is empty or too long, and std::bad_alloc.
    remote_place(connection& through, detail::room_kind kind, std::string_view name,
                 std::size_t capacity)
        : place_(std::make_shared<detail::local_place_of<Kind>>(capacity)),
          beyond_(detail::connection_access::open_room(through, kind, name, place_)) {}
    ~remote_place() {
        place_->close();
        beyond_->leave();
    }

    template <std::size_t Side>
    using side = typename Kind::template at<Side>;
    template <std::size_t Side>
    using item_of = detail::object_t<typename side<Side>::own>;
    template <std::size_t Side>
    using result_of = remote_result<typename side<Side>::theirs, typename side<Side>::own>;

    /// The operation of a party. After a mistake it has no limits, so that no other error follows.
    template <std::size_t Side, class... Limit>
    task<result_of<Side>> meet(item_of<Side> item, Limit&... limit) {
        if constexpr (tryst::detail::check_limits<Limit...>()) {
            return tryst::detail::with_limits(
                [&](auto... given) {
                    return find<Side>(place_, beyond_, std::move(item), std::move(given)...);
                },
                limit...);
        } else {
            return find<Side>(place_, beyond_, std::move(item));
        }
    }

    /// Meets a partner that waits in this process or in Redis, or fails.
    template <std::size_t Side>
    task<result_of<Side>> try_meet(item_of<Side> item) {
        return try_find<Side>(place_, beyond_, std::move(item));
    }

private:
    using place_ptr = std::shared_ptr<detail::local_place_of<Kind>>;
    using room_ptr = std::shared_ptr<detail::room>;

    /// An exchange in the local place. While its coroutine is suspended, the room takes turns.
    template <class Make, class Operation = std::invoke_result_t<Make>>
    class counted {
    public:
        counted(Make make, detail::room& beyond) : work_(make()), beyond_(beyond) {}
        counted(const counted&) = delete;
        counted& operator=(const counted&) = delete;
        ~counted() { leave(); }

        bool await_ready() noexcept { return work_.await_ready(); }
        template <class Promise>
        auto
        await_suspend(std::coroutine_handle<Promise> coroutine,
                      tryst::detail::location where = tryst::detail::location::current()) noexcept {
            waits_ = true;
            if (beyond_.arriving.enter()) {
                beyond_.schedule_turn();
            }
            return work_.await_suspend(coroutine, where);
        }
        auto await_resume() noexcept {
            leave();
            return work_.await_resume();
        }

    private:
        void leave() noexcept {
            if (std::exchange(waits_, false)) {
                beyond_.arriving.leave();
            }
        }

        Operation work_;
        detail::room& beyond_;
        bool waits_ = false;
    };

    /// The result of an exchange in this process, unless the room has taken the item.
    template <std::size_t Side, class Got>
    static std::optional<result_of<Side>> result_here(Got& got) noexcept {
        if (!got) {
            return result_of<Side>(static_cast<exchange_errc>(got.error().value()),
                                   *std::move(got.returned().item));
        }
        if (got->item) {
            return result_of<Side>(*std::move(got->item));
        }
        return std::nullopt;
    }

    /// A limit for several steps: a duration begins now.
    template <class Limit>
    static auto begun(Limit&& limit) noexcept {
        if constexpr (std::is_same_v<Limit, tryst::detail::clock::duration>) {
            return tryst::detail::after(tryst::detail::clock::now(), limit);
        } else {
            return std::forward<Limit>(limit);
        }
    }

    template <std::size_t Side, class... Limit>
    static task<result_of<Side>> find(place_ptr place, room_ptr beyond, item_of<Side> item,
                                      Limit... limit) {
        const std::tuple limits(begun(std::move(limit))...);
        const auto make = [&](const auto&... each) {
            return tryst::detail::factory<typename side<Side>::local>::make_exchange(
                place->where(), typename side<Side>::own_item(std::move(item)), each...);
        };
        counted here([&] { return std::apply(make, limits); }, *beyond);
        auto got = co_await here;
        if (auto ended = result_here<Side>(got)) {
            co_return *std::move(ended);
        }
        const auto mine = std::move(got->taken);
        auto abroad =
            std::apply([&](const auto&... each) { return mine->completion(each...); }, limits);
        const auto why = co_await abroad;
        if (why.error() != exchange_errc::closed) {
            mine.withdraw(static_cast<exchange_errc>(why.error().value()));
            auto withdrawn = mine->completion();
            std::ignore = co_await withdrawn;
        }
        co_return mine->take();
    }

    template <std::size_t Side>
    static task<result_of<Side>> try_find(place_ptr place, room_ptr beyond, item_of<Side> item) {
        auto got = tryst::detail::factory<typename side<Side>::local>::try_exchange(
            place->where(), typename side<Side>::own_item(std::move(item)));
        if (got || got.error() != exchange_errc::no_partner) {
            co_return *result_here<Side>(got);
        }
        const auto party = std::make_shared<typename side<Side>::party>();
        party->taken_by = beyond;
        party->bring(*std::move(got.returned().item));
        const detail::ticket<typename side<Side>::party> mine(party);
        beyond->try_remotely(party, Side);
        auto completion = mine->completion();
        std::ignore = co_await completion;
        co_return mine->take();
    }

    place_ptr place_;
    room_ptr beyond_;
    /// @endcond
};

/// @}
TRYST_REDIS_END
