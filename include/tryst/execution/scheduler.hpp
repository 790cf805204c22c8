// SPDX-License-Identifier: MIT
/// @file
/// The executors of tryst as schedulers.
/// std::execution or stdexec.
#pragma once

#include <tryst/detail/run/event_loop.hpp>
#include <tryst/execution/detail/std.hpp>
#include <tryst/executor.hpp>

#include <cassert>
#include <type_traits>
#include <utility>

namespace tryst {
namespace execution {

class scheduler;

namespace detail {

/// Whether a sender in this environment may be stopped.
template <class Env>
inline constexpr bool is_stoppable = !stops::unstoppable_token<stops::stop_token_of_t<Env>>;

/// A turn of an executor.
template <class Receiver>
class schedule_state : executor_node {
public:
    using operation_state_concept = ex::operation_state_tag;

    schedule_state(executor_ref executor, Receiver&& receiver) noexcept
        : executor_(executor), receiver_(std::move(receiver)) {}
    schedule_state(schedule_state&&) = delete;

    void start() & noexcept {
        run = [](executor_node* node) noexcept { static_cast<schedule_state*>(node)->complete(); };
        executor_.post(this);
    }

private:
    void complete() noexcept {
        if constexpr (is_stoppable<ex::env_of_t<Receiver>>) {
            if (stops::get_stop_token(ex::get_env(receiver_)).stop_requested()) {
                ex::set_stopped(std::move(receiver_));
                return;
            }
        }
        ex::set_value(std::move(receiver_));
    }

    executor_ref executor_;
    Receiver receiver_;
};

} // namespace detail

/// An executor as a scheduler. `loop.get_scheduler()` and `executor.get_scheduler()` return one.
/// The executor must outlive every use of it.
///
/// A sender that `schedule` returns completes on the executor, by way of its queue: with
/// `set_stopped` if the receiver's stop token has requested a stop by then, otherwise with
/// `set_value()`.
/// @throws nothing.  @allocation none beyond that of the executor's `post`.
class scheduler {
    struct attributes;

public:
    using scheduler_concept = detail::ex::scheduler_tag; ///< For std::execution.

    /// Precondition: there is an executor.
    explicit scheduler(executor_ref executor) noexcept : executor_(executor) {
        assert(executor && "tryst: a scheduler needs an executor");
    }

    /// Whether both refer to the same executor.
    bool operator==(const scheduler& other) const noexcept = default;

    /// The executor.
    executor_ref executor() const noexcept { return executor_; }

    /// A sender that completes on the executor.
    [[nodiscard]] auto schedule() const noexcept { return sender(executor_); }

    /// The executor itself is where the schedule sender completes.
    scheduler
    query(detail::ex::get_completion_scheduler_t<detail::ex::set_value_t>) const noexcept {
        return *this;
    }
    /// A loop runs all its work on the one thread that runs it, perhaps one that runs other loops.
    detail::ex::forward_progress_guarantee
    query(detail::ex::get_forward_progress_guarantee_t) const noexcept {
        return detail::ex::forward_progress_guarantee::weakly_parallel;
    }

private:
    class [[nodiscard]] sender {
    public:
        using sender_concept = detail::ex::sender_tag;

        explicit sender(executor_ref executor) noexcept : executor_(executor) {}

        template <class, class... Env>
        static consteval auto get_completion_signatures() noexcept {
            if constexpr ((detail::is_stoppable<Env> || ...)) {
                return detail::ex::completion_signatures<detail::ex::set_value_t(),
                                                         detail::ex::set_stopped_t()>();
            } else {
                return detail::ex::completion_signatures<detail::ex::set_value_t()>();
            }
        }

        template <class Receiver>
        auto connect(Receiver receiver) const noexcept {
            return detail::schedule_state<Receiver>(executor_, std::move(receiver));
        }

        attributes get_env() const noexcept;

    private:
        executor_ref executor_;
    };

    executor_ref executor_;
};

/// @cond
struct scheduler::attributes {
    executor_ref executor;

    template <class Tag>
    scheduler query(detail::ex::get_completion_scheduler_t<Tag>) const noexcept {
        return scheduler(executor);
    }
};
/// @endcond

inline auto scheduler::sender::get_env() const noexcept -> attributes {
    return {executor_};
}

} // namespace execution

inline execution::scheduler executor_ref::get_scheduler() const noexcept {
    return execution::scheduler(*this);
}

} // namespace tryst
