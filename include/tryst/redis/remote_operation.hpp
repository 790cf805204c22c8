// SPDX-License-Identifier: MIT
/// @file
/// The awaitable that the members of remote exchangers and channels return: one exchange.
/// Asio, only to choose the namespace.
#pragma once

#include <tryst/detail/meet/blocking_wait.hpp>
#include <tryst/detail/meet/operation.hpp>
#include <tryst/detail/meet/wait_limits.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/time.hpp>
#include <tryst/detail/run/thread_wait_strategy.hpp>
#include <tryst/detail/run/turn_budget.hpp>
#include <tryst/detail/run/wrong_coroutine.hpp>
#include <tryst/executor.hpp>
#include <tryst/redis/detail/meeting.hpp>
#include <tryst/redis/detail/net.hpp>
#include <tryst/redis/detail/party.hpp>
#include <tryst/redis/detail/room.hpp>
#include <tryst/redis/remote_result.hpp>
#include <tryst/result.hpp>
#include <tryst/task.hpp>
#include <tryst/wait_limit.hpp>

#include <cassert>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

TRYST_REDIS_BEGIN
/// @addtogroup remote
/// @{

/// One exchange of a remote exchanger or channel, lazily started: it begins when it is awaited, by
/// `co_await` in any coroutine except Asio's, by `sync_wait` on a plain thread, or by
/// `tryst::fiber::wait`. In an Asio coroutine, or with a completion token, run it as a task
/// (`as_task`). Await it at most once. It can be moved until it is awaited.
///
/// @returns     `remote_result`: the partner's item; or an error, with your own item handed back.
///   Besides the errors of a local exchange there are `unavailable`: Redis cannot be reached, or
///   refuses, and nothing was offered; and `in_doubt`: the item was offered, and its outcome cannot
///   be found out. A partner gets it at most once.
/// @throws      nothing.
/// @progress    lock-free until suspension.
/// @resumes     on the executor that it was awaited on (`executor_of`); without an executor, inline
///   in the party that completes it, or on the connection's executor.
/// @cancellation total in this process. A duration begins when the operation is awaited. A party
///   that is in Redis is withdrawn there, which takes a round trip; a match wins over a later stop
///   or deadline. If the connection is broken at that time, the operation ends at most one
///   `options::lease` later. The coroutine may be destroyed while it waits, under the conditions of
///   `exchange_operation`. Then the item may have been exchanged.
/// @sync        with a partner in this process, as for `exchange_operation`. A partner in another
///   process shares no memory.
/// @allocation  none if the partner is in this process, except that two-colour rooms may allocate
///   memory for a waiting party. If the item leaves the process: its encoding, and records of its
///   offer.
///
/// @tparam Limit  the clock's duration or time point, and the stop token, if they were given.
template <class Kind, std::size_t Side, class... Limit>
class [[nodiscard]] remote_operation : public tryst::detail::task_not_in_asio {
    using side = typename Kind::template at<Side>;
    using own = detail::object_t<typename side::own>;
    using party = typename side::party;
    using clock = tryst::detail::clock;
    using limits = tryst::detail::limits_of<Limit...>;
    static constexpr bool has_duration = (std::is_same_v<Limit, clock::duration> || ...);
    // The steps of an operation. Most end with the first.
    using local_step = tryst::detail::operation<typename side::local, limits>;
    using remote_step = tryst::detail::operation<detail::party::completion_side, limits>;
    using withdrawal_step =
        tryst::detail::operation<detail::party::completion_side, tryst::detail::limits<false>>;

public:
    /// What it returns.
    using result_type = remote_result<typename side::theirs, typename side::own>;

    /// @cond
    remote_operation(const detail::meeting<Kind>& where, own&& item, Limit... limit) noexcept
        : where_(&where), item_(std::move(item)), limits_(std::move(limit)...) {}
    /// @endcond

    /// Precondition: `other` has not been awaited.
    remote_operation(remote_operation&& other) noexcept
        : where_(other.where_), item_(std::move(other.item_)), limits_(std::move(other.limits_)) {
        assert(other.step_.index() == 0 && "tryst: an operation that is awaited cannot be moved");
    }
    remote_operation& operator=(remote_operation&&) = delete;

    ~remote_operation() { stop_waiting_locally(); }

    /// A task that runs this operation, for example for `tryst::asio::async_wait`.
    /// @throws std::bad_alloc.
    task<result_type> as_task() && { return run(std::move(*this)); }

    /// For `co_await`: swaps with a partner that waits in this process.
    bool await_ready() noexcept {
        local_step& first = begin();
        return tryst::detail::turn_budget::poll([&] { return first.prepare_start(); });
    }

    /// For `co_await`: makes the offer. Not inlined (see `operation::start`).
    template <class Promise>
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        executor_ = tryst::executor_of(coroutine);
        coroutine_ = coroutine;
        is_task_ = tryst::detail::running_task::tracks<Promise>;
        wait_locally();
        return std::get<1>(step_).template start<after<1>>(executor_, this) || goes_on<1>();
    }

    /// For `co_await`: returns the result. Precondition: the operation is complete.
    result_type await_resume() noexcept {
        if (step_.index() == 1 && !result_) {
            take_local_result();
        }
        return *std::move(result_);
    }

    /// Blocks the calling thread: spins for a moment, then sleeps. `sync_wait` calls this.
    result_type wait() noexcept {
        return wait_with([] { return tryst::detail::thread_wait_strategy(); });
    }

    /// @cond
    // For adapters: blocks a thread or a fiber, with a new strategy for each step.
    template <class MakeStrategy>
    result_type wait_with(MakeStrategy make_strategy) noexcept {
        const auto block = [&](auto& step) {
            auto strategy = make_strategy();
            return tryst::detail::blocking_wait(step, strategy);
        };
        local_step& first = begin();
        wait_locally();
        auto local = block(first);
        stop_waiting_locally();
        if (!take(std::move(local))) {
            if (!take(block(begin_remote()))) {
                std::ignore = block(begin_withdrawal());
                take_remote_result();
            }
        }
        return *std::move(result_);
    }
    /// @endcond

private:
    static task<result_type> run(remote_operation mine) {
        auto got = co_await mine;
        co_return got;
    }

    /// @tparam Step  1: in this process, 2: in Redis, both with the limits; 3: until the end.
    template <std::size_t Step, class... Given>
    auto& begin_step(Given&&... given) noexcept {
        if constexpr (Step == 3) {
            return step_.template emplace<Step>(std::forward<Given>(given)...);
        } else {
            return std::apply(
                [&](const Limit&... limit) -> auto& {
                    return step_.template emplace<Step>(std::forward<Given>(given)...,
                                                        current(limit)...);
                },
                limits_);
        }
    }
    /// A copy of a limit for one step. A duration has become a deadline.
    template <class Given>
    auto current(const Given& limit) const noexcept {
        if constexpr (std::is_same_v<Given, clock::duration>) {
            return end_;
        } else {
            return limit;
        }
    }
    local_step& begin() noexcept {
        assert(step_.index() == 0 && "tryst: an exchange can be awaited only once");
        if constexpr (has_duration) {
            end_ = tryst::detail::after(clock::now(), std::get<clock::duration>(limits_));
        }
        return begin_step<1>(where_->place().where(), typename side::own_item(std::move(item_)));
    }
    remote_step& begin_remote() noexcept {
        return begin_step<2>((*ticket_)->completed(), std::monostate());
    }
    withdrawal_step& begin_withdrawal() noexcept {
        return begin_step<3>((*ticket_)->completed(), std::monostate());
    }

    /// The room takes its turns only while a party waits.
    void wait_locally() noexcept {
        room_ = where_->beyond();
        waits_locally_ = true;
        if (room_->arriving.enter()) {
            room_->schedule_turn();
        }
    }
    void stop_waiting_locally() noexcept {
        if (std::exchange(waits_locally_, false)) {
            room_->arriving.leave();
        }
    }

    /// The completion function of a step, which is called on the executor.
    template <std::size_t Step>
    static void after(executor_node* node) noexcept {
        using step = std::variant_alternative_t<Step, decltype(step_)>;
        auto& self = *static_cast<remote_operation*>(step::client_of(node));
        if (!self.template goes_on<Step>()) {
            tryst::detail::running_task::resume(self.coroutine_, self.is_task_);
        }
    }

    /// @returns whether the operation is pending. If so, it must not be touched.
    template <std::size_t Step>
    bool goes_on() noexcept {
        if constexpr (Step == 1) {
            stop_waiting_locally();
            return !take_local_result() &&
                   (begin_remote().template start<after<2>>(executor_, this) || goes_on<2>());
        } else if constexpr (Step == 2) {
            return !take(std::get<2>(step_).take_result()) &&
                   (begin_withdrawal().template start<after<3>>(executor_, this) || goes_on<3>());
        } else {
            std::get<3>(step_).finish();
            take_remote_result();
            return false;
        }
    }

    bool take_local_result() noexcept { return take(std::get<1>(step_).take_result()); }

    /// @returns whether this is the end.
    bool take(typename local_step::result&& got) noexcept {
        if (!got) {
            const auto why = static_cast<exchange_errc>(got.error().value());
            result_.emplace(why, *std::move(got.returned().item));
            return true;
        }
        if (got->item) {
            result_.emplace(*std::move(got->item));
            return true;
        }
        ticket_.emplace(std::move(got->taken)); // the room has taken the item
        return false;
    }
    bool take(typename remote_step::result&& got) noexcept {
        if (got.error() == exchange_errc::closed) {
            take_remote_result();
            return true;
        }
        ticket_->withdraw(static_cast<exchange_errc>(got.error().value()));
        return false;
    }
    void take_remote_result() noexcept { result_.emplace((*ticket_)->take()); }

    const detail::meeting<Kind>* where_;
    [[no_unique_address]] own item_;
    [[no_unique_address]] std::tuple<Limit...> limits_;
    [[no_unique_address]] std::conditional_t<has_duration, clock::time_point, std::monostate>
        end_{};
    executor_ref executor_;
    std::coroutine_handle<> coroutine_;
    bool is_task_ = false;
    bool waits_locally_ = false;
    std::shared_ptr<detail::room> room_;
    std::optional<detail::ticket<party>> ticket_; ///< Once the room has taken the item.
    std::variant<std::monostate, local_step, remote_step, withdrawal_step> step_;
    std::optional<result_type> result_;
};

namespace detail {

/// The operation of a party. After a mistake it has no limits, so that no other error follows.
template <std::size_t Side, class Kind, class... Limit>
auto make_operation(const meeting<Kind>& where,
                    object_t<typename Kind::template at<Side>::own>&& item,
                    Limit&... limit) noexcept {
    if constexpr (tryst::detail::check_limits<Limit...>()) {
        return tryst::detail::with_limits(
            [&](auto... given) {
                return remote_operation<Kind, Side, decltype(given)...>(where, std::move(item),
                                                                        std::move(given)...);
            },
            limit...);
    } else {
        return remote_operation<Kind, Side>(where, std::move(item));
    }
}

/// Meets a partner that waits in this process or in Redis, or fails.
template <class Kind, std::size_t Side>
auto try_meet(const meeting<Kind>& where, object_t<typename Kind::template at<Side>::own> item)
    -> task<remote_result<typename Kind::template at<Side>::theirs,
                          typename Kind::template at<Side>::own>> {
    using side = typename Kind::template at<Side>;
    using result = remote_result<typename side::theirs, typename side::own>;

    const std::shared_ptr<room> beyond = where.beyond();
    auto got = tryst::detail::factory<typename side::local>::try_exchange(
        where.place().where(), typename side::own_item(std::move(item)));
    if (got) {
        co_return result(*std::move(got->item));
    }
    object_t<typename side::own> own = *std::move(got.returned().item);
    if (got.error() != exchange_errc::no_partner) {
        co_return result(exchange_errc::closed, std::move(own));
    }
    const auto mine = std::make_shared<typename side::party>();
    mine->taken_by = beyond;
    mine->bring(std::move(own));
    const ticket<typename side::party> guard(mine);
    beyond->try_remotely(mine, Side);
    auto completion = mine->completion();
    std::ignore = co_await completion;
    co_return mine->take();
}

} // namespace detail

/// @}
TRYST_REDIS_END
