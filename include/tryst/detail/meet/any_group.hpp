// SPDX-License-Identifier: MIT
/// @file
/// The children of a `when_any`, of which the first to end stops the others.
/// Standard library only.
#pragma once

#include <tryst/detail/meet/awaitable_operation.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/awaitable.hpp>
#include <tryst/detail/run/join.hpp>
#include <tryst/detail/run/turn_budget.hpp>
#include <tryst/executor.hpp>
#include <tryst/sleep.hpp>
#include <tryst/task.hpp>

#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <variant>

namespace tryst::detail {

/// The result of an awaitable of `when_any`: a task that has finished, a result, or an exception.
template <class T>
class ended_work {
public:
    explicit ended_work(task<T>&& work) noexcept : left_(std::move(work)) {}
    explicit ended_work(T&& result) noexcept : left_(std::move(result)) {}
    explicit ended_work(std::exception_ptr&& thrown) noexcept : left_(std::move(thrown)) {}

    T take() {
        if (auto* const result = std::get_if<T>(&left_)) {
            return std::move(*result);
        }
        if (auto* const thrown = std::get_if<std::exception_ptr>(&left_)) {
            std::rethrow_exception(*thrown);
        }
        return std::get_if<task<T>>(&left_)->take();
    }

private:
    std::variant<task<T>, T, std::exception_ptr> left_;
};
template <class T>
    requires(std::is_void_v<T> || std::is_same_v<T, std::exception_ptr> || is_task<T>)
class ended_work<T> {
public:
    explicit ended_work(task<T>&& work) noexcept : work_(std::move(work)) {}
    T take() { return work_.take(); }

private:
    task<T> work_;
};

/* The group
 * The first child to finish, and an outer stop, request a stop of all. A time limit is a child,
 * too. The source of the stop lives in the frame of `when_any`, which ends only after all have
 * arrived at the counter.
 *
 * I47. A party that requests the stop of a `when_any` has not arrived yet, so the source outlives
 *     the request. A child requests it before it arrives. An outer stop enters the group first; if
 *     all have arrived, it is too late. */
template <class StopSource>
struct any_group : join_counter {
    static constexpr auto by_time = static_cast<std::size_t>(-1); ///< `when_any_npos`.
    static constexpr std::size_t none = by_time - 1;

    using join_counter::join_counter;

    void finish(std::size_t index) noexcept {
        std::size_t seen = none;
        // Relaxed, failure relaxed: the arrivals order it before the read.
        if (first.compare_exchange_strong(seen, index, std::memory_order_relaxed,
                                          std::memory_order_relaxed)) {
            stop.request_stop();
        }
    }

    StopSource stop;
    atomic<std::size_t> first{none};
};

/// Passes an outer stop on.
template <class Group>
struct outer_stop {
    Group& group;

    void operator()() const noexcept {
        if (group.enter()) {
            group.stop.request_stop();
            if (group.arrive()) {
                group.awaiter.post();
            }
        }
    }
};

template <class Group>
join_child join_first(Group& group, auto& work, std::size_t index) {
    co_await work.when_ready();
    group.finish(index);
}

/// The child of a time limit. It begins a turn later, so that an exchange that has met its partner
/// at once comes first, even if it resumes through the executor's queue.
template <class Group, class Limit>
join_child join_time(Group& group, Limit limit) {
    if (const executor_ref on = group.awaiter.executor()) {
        co_await on.schedule();
    }
    const bool passed = co_await sleep(limit, group.stop.get_token());
    if (passed) {
        group.finish(Group::by_time);
    }
}

template <class Make, class StopToken>
using made = std::invoke_result_t<Make&, StopToken>;

/// Awaits what `make` returns.
template <class Make, class StopToken>
task<awaited<made<Make, StopToken>>> await_made(Make& make, StopToken stop) {
    using type = made<Make, StopToken>;
    decltype(auto) work = make(std::move(stop));
    decltype(auto) awaiter = detail::awaiter_of(static_cast<type&&>(work));
    if constexpr (std::is_void_v<awaited<type>>) {
        co_await awaiter;
    } else {
        auto result = co_await awaiter;
        co_return std::move(result);
    }
}

/// The argument of a child: `std::tuple` constructs each child in place from one.
template <class Group, class Make>
struct any_given {
    Group& group;
    Make& make;
    std::size_t index;
};

template <class Group, class Make>
using made_in = made<Make, decltype(std::declval<Group&>().stop.get_token())>;

/// A child: awaits in a coroutine what its function returns.
template <class Group, class Make>
class any_child {
public:
    using value = awaited<made_in<Group, Make>>;

    explicit any_child(any_given<Group, Make> given)
        : work_(detail::await_made(given.make, given.group.stop.get_token())),
          child_(detail::join_first(given.group, work_, given.index)) {}
    any_child(any_child&&) = delete;

    void start() noexcept { child_.start(); }
    ended_work<value> take() noexcept { return ended_work<value>(std::move(work_)); }

private:
    task<value> work_;
    join_child child_;
};

/// An exchange or a selection, which is kept here and needs no coroutine.
template <class Group, class Make>
    requires requires(made_in<Group, Make>& made) { operation_access::of(made); } &&
             (!std::is_reference_v<made_in<Group, Make>>)
class any_child<Group, Make> {
    using operation_type = made_in<Group, Make>;
    using core =
        std::remove_reference_t<decltype(operation_access::of(std::declval<operation_type&>()))>;

public:
    using value = typename core::result;

    explicit any_child(any_given<Group, Make> given) noexcept : given_(given) {}
    any_child(any_child&&) = delete;
    ~any_child() {
        if (is_made_) {
            std::destroy_at(std::addressof(operation));
        }
    }

    void start() noexcept {
        try {
            ::new (static_cast<void*>(std::addressof(operation)))
                operation_type(given_.make(given_.group.stop.get_token()));
        } catch (...) {
            thrown_ = std::current_exception();
            return end();
        }
        is_made_ = true;
        if (turn_budget::poll([this] { return inside().prepare_start(); }) || !offer()) {
            finish();
        }
    }
    ended_work<value> take() noexcept {
        return is_made_ ? ended_work<value>(inside().take_result())
                        : ended_work<value>(std::move(thrown_));
    }

private:
    core& inside() noexcept { return operation_access::of(operation); }

    /// Not inlined (see `pending::start`).
    [[gnu::noinline]] bool offer() noexcept {
        inside().set_location({});
        return inside().template start<ended>(given_.group.executor(), this);
    }
    static void ended(executor_node* node) noexcept {
        auto* const self = static_cast<any_child*>(core::client_of(node)); // a name for debuggers
        self->finish();
    }
    /// The result stays where it is: `when_any` may be destroyed before the others end.
    void finish() noexcept {
        inside().finish();
        end();
    }
    void end() noexcept {
        Group& group = given_.group; // outlives the arrival only if others follow
        group.finish(given_.index);
        if (group.arrive()) {
            group.awaiter.post();
        }
    }

    any_given<Group, Make> given_;
    std::exception_ptr thrown_;
    bool is_made_ = false;
    union {
        operation_type operation;
    };
};

} // namespace tryst::detail
