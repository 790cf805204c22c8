// SPDX-License-Identifier: MIT
/// @file
/// The handle of spawned work, through which another coroutine gets its result.
/// Standard library only.
#pragma once

#include <tryst/detail/run/awaitable.hpp>
#include <tryst/detail/run/continuation.hpp>
#include <tryst/detail/run/wrong_coroutine.hpp>
#include <tryst/task.hpp>

#include <cassert>
#include <coroutine>
#include <memory>
#include <system_error>
#include <utility>

namespace tryst {
/// @addtogroup waiting
/// @{

template <class T = void>
class join_handle;

namespace detail {

/* The state that spawned work shares with its handle
 * The side of the work leaves the handshake once, with or without a result. The side of the handle
 * awaits it, or drops its part.
 *
 * I44. The state that spawned work shares with its handle is deleted once, by the side that leaves
 *     last.
 * I45. The work uses the awaiter only if it finds `awaited`, and then posts it once. An awaiter
 *     that is being destroyed and cannot withdraw waits until it is in its executor's queue, and
 *     takes it out. So the state outlives the post. */
template <class T>
class join_state {
    using state = handshake::state;

public:
    /// @returns whether `awaiter` must suspend. If so, it will be posted.
    bool await(continuation& awaiter) noexcept {
        awaiter_ = &awaiter;
        return handshake_.suspend();
    }

    /// Takes a suspended awaiter back, whose frame is being destroyed. Call on its executor.
    void withdraw(continuation& awaiter) noexcept {
        if (!handshake_.withdraw()) {
            detail::yield_until([&] { return awaiter.retract(); }); // I45
        }
    }

    /// Ends the use by the handle.
    void drop() noexcept {
        if (handshake_.leave(state::dropped) != state::running) {
            delete this;
        }
    }

    /// Ends the use by the work. `result` has finished, or is empty if the work was destroyed.
    void end(task<T> result) noexcept {
        result_ = std::move(result);
        const state found = handshake_.leave(result_ ? state::finished : state::lost);
        if (found == state::awaited) {
            awaiter_->post(); // the last access: the awaiter may delete the state
        } else if (found == state::dropped) {
            delete this;
        }
    }

    /// Precondition: `await` returned false, or the awaiter was posted.
    task<T> take() noexcept { return std::move(result_); }

private:
    continuation* awaiter_ = nullptr;
    task<T> result_;
    handshake handshake_;
};

/// The side of the work. It says in the end that there is no result, if there was none before.
template <class T>
struct lose_result {
    void operator()(join_state<T>* state) const noexcept { state->end({}); }
};
template <class T>
using join_promise = std::unique_ptr<join_state<T>, lose_result<T>>;

/// Runs `work`, and passes it on with its result. (Parameters are destroyed last to first.)
template <class T>
task<> fulfil(join_promise<T> promise, task<T> work) {
    co_await work.when_ready();
    promise.release()->end(std::move(work));
}

/// Calls `spawn` with a task that runs `work`. @returns its handle.
template <class Work, class Spawn>
join_handle<awaited<Work>> spawn_joined(Work&& work, Spawn spawn) {
    using value = awaited<Work>;
    auto own = detail::as_task(std::forward<Work>(work));
    join_promise<value> promise(new join_state<value>);
    join_handle<value> handle(*promise);
    spawn(detail::fulfil(std::move(promise), std::move(own)));
    return handle;
}

struct join_state_drop {
    template <class T>
    void operator()(join_state<T>* state) const noexcept {
        state->drop();
    }
};

} // namespace detail

/// The handle of work that `spawn_future` has started. `co_await handle` waits for the end of the
/// work, and returns its value or throws its exception. Await it at most once.
///
/// A handle may be dropped: the work goes on, and its result is destroyed at its end. Dropping does
/// not ask the work to stop; for that, give it a stop token. A handle can be moved to, and awaited
/// on, any thread. It may outlive the loop or scope of its work.
///
/// @throws   what the work throws. std::system_error with `std::errc::operation_canceled` if the
///   work was destroyed before its end, with its loop or scope.
/// @resumes  on the executor that it was awaited on, through its queue; without an executor,
///   inline, where the work ends. If the work has ended, the awaiter is not suspended.
/// @cancellation  none. The awaiting coroutine may be destroyed on its executor while it waits; the
///   work goes on.
/// @sync     everything that the work did happens-before the return.
/// @allocation  `spawn_future` allocates three blocks, and a fourth if the work is not a task;
///   awaiting allocates nothing.
template <class T>
class [[nodiscard]] join_handle : public detail::not_in_asio {
    using shared_state = std::unique_ptr<detail::join_state<T>, detail::join_state_drop>;

public:
    /// An empty handle, to be assigned to.
    join_handle() noexcept = default;
    /// Takes the other handle's work, and leaves it empty.
    join_handle(join_handle&&) noexcept = default;
    /// Takes the other handle's work, and drops its own, if there is any.
    join_handle& operator=(join_handle&&) noexcept = default;
    ~join_handle() = default;

    /// Whether it has work that has not been awaited.
    explicit operator bool() const noexcept { return state_ != nullptr; }

    /// Waits for the end of the work, and leaves the handle empty. Precondition: not empty.
    auto operator co_await() noexcept {
        assert(state_ != nullptr && "tryst: an empty join_handle was awaited; await it only once");
        return awaiter(std::move(state_));
    }

private:
    template <class Work, class Spawn>
    friend join_handle<detail::awaited<Work>> detail::spawn_joined(Work&& work, Spawn spawn);

    class awaiter : public detail::not_in_asio {
    public:
        explicit awaiter(shared_state&& work) noexcept : state_(std::move(work)) {}
        awaiter(awaiter&&) = delete;
        ~awaiter() {
            if (suspended_) {
                state_->withdraw(waiting_);
            }
        }

        bool await_ready() const noexcept { return false; }
        template <class Promise>
        [[gnu::noinline]] bool
        await_suspend(std::coroutine_handle<Promise> coroutine,
                      detail::location where = detail::location::current()) noexcept {
            waiting_.set(coroutine, where);
            suspended_ = true; // before the frame may be resumed
            if (state_->await(waiting_)) {
                return true;
            }
            suspended_ = false;
            return false;
        }
        T await_resume() {
            suspended_ = false;
            task<T> work = state_->take();
            state_.reset();
            if (!work) {
                throw std::system_error(std::make_error_code(std::errc::operation_canceled),
                                        "tryst: the spawned work was destroyed before its end");
            }
            return work.take();
        }

    private:
        shared_state
            state_; // taken from the handle, which may be moved or destroyed during the wait
        detail::continuation waiting_;
        bool suspended_ = false;
    };

    explicit join_handle(detail::join_state<T>& work) noexcept : state_(&work) {}

    shared_state state_;
};

/// @}
} // namespace tryst
