// SPDX-License-Identifier: MIT
/// @file
/// The part of an operation that does not depend on the type of its result.
#pragma once

#include <tryst/detail/run/wrong_coroutine.hpp>
#include <tryst/executor.hpp>
#include <tryst/uring/detail/request.hpp>
#include <tryst/uring/limits.hpp>

#include <cassert>
#include <cerrno>
#include <coroutine>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>

namespace tryst::uring::detail {

class reactor;
class stream_base;
class submissions;

/// The links of an element of a circular list, or of the list itself.
struct list_links {
    list_links() noexcept = default;
    list_links(const list_links&) = delete;
    list_links& operator=(const list_links&) = delete;

    bool alone() const noexcept { return following == this; }

    void unlink() noexcept {
        previous->following = following;
        following->previous = previous;
        previous = following = this;
    }
    /// Moves to a place in this or another list. Precondition: `place` is not this element.
    void move_before(list_links& place) noexcept {
        unlink();
        previous = place.previous;
        following = &place;
        previous->following = following->previous = this;
    }

    list_links* previous = this;
    list_links* following = this;
};

/* The states of an operation
 *
 *   state          in the kernel             in which list of src/uring/submissions.hpp
 *   created        nothing                   none
 *   waiting        nothing                   none: it waits for a timer of the loop or for a stream
 *   queued         nothing                   queued
 *   in_flight      operation                 in flight
 *   cancel_queued  operation                 cancels
 *   cancelling     operation, cancellation   in flight
 *   completed      cancellation              in flight
 *   over           nothing                   none
 *
 *   created       --start--------------> waiting, queued or in_flight
 *   created       --stop was requested-> over
 *   waiting       --event, end_reason--> over
 *   queued        --submit-------------> in_flight
 *   queued        --end_reason---------> over
 *   in_flight     --end_reason---------> cancel_queued   (not a close, which cannot be undone)
 *   cancel_queued --submit-------------> cancelling
 *   cancelling    --answer-------------> in_flight; from there cancel_queued, to cancel again
 *   cancelling    --completion---------> completed
 *   in_flight, cancel_queued --completion--> over, or queued to start again
 *   completed                --answer------> over, or queued to start again
 *   over          --start--------------> queued          (the source of a stream only)
 *
 * The reactor starts, ends and completes operations; `submissions` submits and cancels them. In a
 * child process, a frame that is destroyed takes its operation from any state to `over`.
 *
 * I35. An io_uring operation changes its state only on the thread of the context, or on the thread
 *     that destroys it after `run` has returned. A stop, requested on any thread, only posts the
 *     operation's node to the loop, which then cancels the operation.
 * I36. The kernel may use an operation and the memory it refers to in the states for which
 *     `is_in_kernel` is true, and in no other. So nothing may be freed in these states.
 * I37. A cancelled operation ends only after both its own completion and the answer to its
 *     cancellation. If the completion contains a result, the result counts and the cancellation had
 *     no effect. If it ended before the answer, the answer could be attributed to a later operation
 *     at the same address.
 * I38. An operation's node is in the loop's queue, or on its way there, if and only if `run` is not
 *     null. It is posted for a stop, or to resume the coroutine. If the operation is over when the
 *     node of a stop runs, that node resumes the coroutine. */
enum class operation_state : std::uint8_t {
    created,
    waiting,
    queued,
    in_flight,
    cancel_queued,
    cancelling,
    completed,
    over,
};

/// Whether the diagram has an arrow from one state to the other.
constexpr bool may_follow(operation_state from, operation_state to) noexcept {
    using enum operation_state;
    constexpr auto any_of = [](auto... each) {
        return ((1U << static_cast<unsigned>(each)) | ...);
    };
    constexpr unsigned targets[]{
        any_of(waiting, queued, in_flight, over), // created
        any_of(over), // waiting
        any_of(in_flight, over), // queued
        any_of(cancel_queued, queued, over), // in_flight
        any_of(cancelling, queued, over), // cancel_queued
        any_of(in_flight, completed), // cancelling
        any_of(queued, over), // completed
        any_of(queued), // over
    };
    return (targets[static_cast<unsigned>(from)] & any_of(to)) != 0;
}

/// Why an operation should end early.
enum class end_reason : std::uint8_t {
    none,
    stop, ///< A stop was requested, its coroutine is destroyed, or its stream is full.
    deadline,
    leaving, ///< `run` returns. The operation starts again when the context runs again.
};

class operation_base : public tryst::detail::not_in_asio,
                       tryst::executor_node,
                       tryst::timer_node,
                       list_links {
public:
    operation_base(reactor& owner, const request& what, limits&& until) noexcept
        : reactor_(&owner), request_(what), limits_(std::move(until)) {}
    operation_base(const operation_base&) = delete;
    operation_base& operator=(const operation_base&) = delete;

    bool await_ready() noexcept {
        assert(state_ == state::created && "tryst: an operation can be awaited only once");
        if (limits_.stop().stop_requested()) {
            enter(state::over);
            result_ = -ECANCELED;
            return true;
        }
        return false;
    }

    template <class Promise>
    void
    await_suspend(std::coroutine_handle<Promise> coroutine,
                  tryst::detail::location where = tryst::detail::location::current()) noexcept {
        where_.set(where);
        resumes_task_ = tryst::detail::running_task::tracks<Promise>;
        begin(coroutine);
    }

protected:
    ~operation_base() {
        if (coroutine_) {
            abandon();
        }
    }

    /// Ends the operation of a coroutine that is destroyed; waits until it is not in the kernel
    /// (I36).
    void abandon() noexcept;

    bool is_over() const noexcept { return state_ == state::over; }
    const request& arguments() const noexcept { return request_; }
    const char* name() const noexcept;
    int outcome() const noexcept { return result_; }
    std::uint32_t completion_flags() const noexcept { return flags_; }
    std::error_code error() const noexcept {
        return {result_ < 0 ? -result_ : 0, std::system_category()};
    }

    /// Takes the outcome, such as a file descriptor, which the caller then owns; negative if there
    /// is none, or none any more.
    int take_outcome() noexcept { return is_over() ? std::exchange(result_, -1) : -1; }

private:
    friend class reactor;
    friend class stream_base;
    friend class submissions;

    using state = operation_state;

    struct post_stop {
        operation_base* operation;
        void operator()() const noexcept;
    };

    void begin(std::coroutine_handle<> coroutine) noexcept;

    void enter(state to) noexcept {
        assert(may_follow(state_, to) &&
               "tryst: an operation made an invalid transition (a bug in tryst)");
        state_ = to;
    }
    bool has_started() const noexcept { return state_ != state::created; }
    /// Whether the kernel has the operation, or still owes an answer about it.
    bool is_in_kernel() const noexcept {
        return state_ == state::in_flight || state_ == state::cancel_queued ||
               state_ == state::cancelling || state_ == state::completed;
    }
    /// Whether it was cancelled and will not start again.
    bool is_cancelled() const noexcept {
        return reason_ == end_reason::stop || reason_ == end_reason::deadline;
    }
    /// Whether the node is queued (I38). Precondition: `stop_callback_` is empty, so that no other
    /// thread posts the node.
    bool is_posted() const noexcept { return run != nullptr; }

    reactor* reactor_;
    stream_base* stream_ = nullptr; ///< The stream that this is the source of, or waits for.
    request request_;
    int result_ = 0;
    std::uint32_t flags_ = 0; ///< The flags of the completion.
    state state_ = state::created;
    end_reason reason_ = end_reason::none;
    bool resumes_task_ = false; ///< Whether `coroutine_` is a task.
    std::uint8_t cancel_tries_ = 0; ///< How often the kernel was asked to cancel it.
    std::coroutine_handle<> coroutine_; ///< The coroutine to resume; null once it is resumed.
    tryst::detail::location_slot where_; ///< Directly behind `coroutine_`, for debuggers.
    limits limits_;
    std::optional<std::stop_callback<post_stop>> stop_callback_;
};

} // namespace tryst::uring::detail
