// SPDX-License-Identifier: MIT
/// @file
/// The interface between tryst and executors: how to resume coroutines and, optionally, how to set
/// timers.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/location.hpp>
#include <tryst/detail/run/running_task.hpp>
#include <tryst/detail/run/wrong_coroutine.hpp>

#include <cassert>
#include <concepts>
#include <coroutine>
#include <utility>

namespace tryst {
namespace execution {
class scheduler;
}

/// @addtogroup waiting
/// @{

/// A piece of work in an executor's queue. It is part of the waiting object, usually in a coroutine
/// frame. So queueing a node allocates nothing and cannot fail.
struct executor_node {
    executor_node* next = nullptr; ///< Owned by the executor from `post` to `run`.
    void (*run)(executor_node*) noexcept = nullptr; ///< Does the work; may end the node's lifetime.
    executor_node** link = nullptr; ///< Likewise: the pointer to this in a queue; null outside.
};

/// An entry in an executor's timer queue.
struct timer_node {
    using time_point = detail::clock::time_point; ///< A time on the `steady_clock`.

    time_point deadline{}; ///< The time at which it is due.
    void (*fire)(timer_node*) noexcept = nullptr; ///< Called once, when `deadline` has passed.
    timer_node* child = nullptr; ///< Belongs to the executor.
    timer_node* sibling = nullptr; ///< Belongs to the executor.
    timer_node* previous = nullptr; ///< Belongs to the executor.
};

/// The functions of an executor. Only `post` is mandatory; the others may be null.
struct executor_vtable {
    /// Queues `node`; never runs it before returning. Called from any thread. Everything before it
    /// must happen-before the run of the node.
    void (*post)(void* context, executor_node* node) noexcept = nullptr;

    /// Whether the executor runs one node at a time, as a loop or a strand does, in an
    /// `executor_scope` of its own.
    bool serial = false;

    /// Whether the executor exists only for a single operation. A coroutine that runs on such an
    /// executor, but whose promise does not name it, must not wait on it (see `executor_of`).
    bool temporary = false;

    /// Whether the calling thread is running this executor's work now. Null: never.
    bool (*running_here)(const void* context) noexcept = nullptr;

    /// Removes a node from the queue, so that its frame may be destroyed. Returns false if the node
    /// is not queued (yet). Called only on the executor. Null: frames must not be destroyed while
    /// they wait on it.
    bool (*retract)(void* context, executor_node* node) noexcept = nullptr;

    /// The current time on the clock of the executor's timers. `now`, `arm` and `disarm` are all
    /// set or all null, and are called only on the executor. If they are null, a timer thread of
    /// the library serves the deadlines instead.
    timer_node::time_point (*now)(const void* context) noexcept = nullptr;
    /// Arms a timer. The executor calls its `fire` when `now` has reached its deadline.
    void (*arm)(void* context, timer_node* node) noexcept = nullptr;
    /// Removes a timer, whether it has fired or not. After that the executor must not use it.
    void (*disarm)(void* context, timer_node* node) noexcept = nullptr;

    /// For executors of the library: an address that belongs to the variables which they use. A
    /// plugin may have other variables (docs/install.md).
    const void* variables = nullptr;
};

/// A reference to an executor, or to none. It is two words long and cheap to copy. The executor
/// must outlive every use of the reference.
class executor_ref {
public:
    /// Refers to no executor.
    constexpr executor_ref() noexcept = default;
    /// @param context  the first argument of the functions in the table.
    /// @param vtable   the table, which must outlive all use; usually a constant. References to one
    ///   executor are equal only if they have the same table. A constant in a header may exist once
    ///   in the program and once in each shared library. So an executor that they share should keep
    ///   the table's address, for all of its references.
    constexpr executor_ref(void* context, const executor_vtable* vtable) noexcept
        : context_(context), vtable_(vtable) {}

    /// Whether it refers to an executor.
    explicit operator bool() const noexcept { return vtable_ != nullptr; }
    /// Whether both refer to the same executor, or to none.
    bool operator==(const executor_ref& other) const noexcept = default;

    /// Queues `node`, to be run on the executor later. Call from any thread.
    /// @throws nothing.  @allocation none on the executors of the core; others document their own.
    /// @sync everything before it happens-before the run.
    void post(executor_node* node) const noexcept { vtable_->post(context_, node); }

    /// Whether the calling thread is running the executor's work now; false if the executor cannot
    /// tell.
    bool running_here() const noexcept {
        return vtable_ != nullptr && vtable_->running_here != nullptr &&
               vtable_->running_here(context_);
    }

    /// See `executor_vtable::temporary`.
    bool is_temporary() const noexcept { return vtable_ != nullptr && vtable_->temporary; }

    /// Whether no other work of this executor can run before the caller returns to it.
    bool alone_here() const noexcept;

    /// See `executor_vtable::variables`.
    const void* variables() const noexcept {
        return vtable_ == nullptr ? nullptr : vtable_->variables;
    }

    /// Removes a node from the queue; returns false if it is not queued. Call on the executor.
    /// Precondition: the executor can retract.
    bool retract(executor_node* node) const noexcept {
        assert(vtable_ != nullptr && vtable_->retract != nullptr &&
               "tryst: a frame was destroyed while it waited on an executor that cannot retract");
        return vtable_->retract(context_, node);
    }

    /// Whether the executor has timers, which may be armed while it runs.
    bool keeps_timers() const noexcept {
        return vtable_ != nullptr && vtable_->arm != nullptr && vtable_->running_here != nullptr;
    }
    /// Whether the calling thread may arm timers now: the executor has timers and runs here.
    bool has_timers() const noexcept {
        return vtable_ != nullptr && vtable_->arm != nullptr && running_here();
    }
    /// The time of the executor's timers. Call this, `arm` and `disarm` on the executor.
    /// Precondition: `has_timers()`.
    timer_node::time_point now() const noexcept { return vtable_->now(context_); }
    /// Fires `node` once, when its deadline has passed.
    void arm(timer_node* node) const noexcept { vtable_->arm(context_, node); }
    /// Removes `node`, whether it has fired or not.
    void disarm(timer_node* node) const noexcept { vtable_->disarm(context_, node); }

    /// `co_await executor.schedule()`: continues on the executor, by way of its queue.
    [[nodiscard]] auto schedule() const noexcept;

    /// The executor as a scheduler of `std::execution`. Defined in `<tryst/execution.hpp>`.
    execution::scheduler get_scheduler() const noexcept;

private:
    void* context_ = nullptr;
    const executor_vtable* vtable_ = nullptr;
};

namespace detail {

class ending_scope;

/// The state in which a thread found its partners on other threads when it completed their waits or
/// posted to them. A loop reads it to decide how long to wait for an answer (spin_policy.hpp).
struct partners_seen {
    bool running = false; ///< Some partner was running or spinning.
    bool sleeping = false; ///< Some partner had to be woken.
};

/// The state that tryst keeps for each thread.
struct [[gnu::visibility("default")]] thread_state {
    executor_ref executor; ///< The executor whose work this thread is running.
    bool hides_executor = false; ///< Whether an `inline_scope` hides an executor that runs here.
    const ending_scope* ending = nullptr; ///< The executors that this thread is destroying.
    bool has_batches = false; ///< Whether the innermost scope has called `next_batch`.
    std::uint32_t place = 0; ///< This thread's latest place in an arena (`basic_arena::place`).
    std::uint32_t probe = 0; ///< Selects this thread's slot in an arena; 0: not chosen yet.
    clock::rep batch_time = 0; ///< When this batch of an executor's work began; 0: not read yet.
    std::uint32_t draws = 0; ///< The random words that selections have drawn (`random_draws`).
    std::uint64_t random = 0; ///< Selects arrivals that look at a list first (arena.hpp); 0: unset.
    std::uint8_t completions = 0; ///< Without a suspension (`turn_budget`).
    std::uint8_t looks = 0; ///< At waiters that a partner has claimed (`protocol::expire`).
    partners_seen partners; ///< Since the loop on this thread has last asked.
};

/// Its address is another where `per_thread<thread_state>` is another.
[[gnu::visibility("default")]] inline const char library_variables = 0;

/// Whether the code that calls this finds the current executor when `executor` runs it.
inline bool shares_variables(executor_ref executor) noexcept {
    const void* const its = executor.variables();
    return its == nullptr || its == &library_variables;
}

/// Records for the loop on this thread that a partner on another thread was running or sleeping.
inline void saw_partner(bool sleeping) noexcept {
    partners_seen& seen = per_thread<thread_state>().partners;
    (sleeping ? seen.sleeping : seen.running) = true;
}

} // namespace detail

/// For executor authors: wrap each batch of node runs in an `executor_scope`. Within the scope,
/// `current_executor` returns the executor that was passed to it. Scopes nest.
class executor_scope {
public:
    /// Sets the executor until the end of the scope.
    explicit executor_scope(executor_ref executor) noexcept {
        auto& here = detail::per_thread<detail::thread_state>();
        outer_ = here.executor;
        outer_has_batches_ = here.has_batches;
        here.executor = executor;
        here.has_batches = false;
        here.batch_time = 0;
    }
    executor_scope(executor_scope&&) = delete;
    ~executor_scope() {
        auto& here = detail::per_thread<detail::thread_state>();
        here.executor = outer_;
        here.has_batches = outer_has_batches_;
        here.batch_time = 0;
    }

    /// Optional: call in the scope before each batch of node runs. Then the library reads the clock
    /// at most once in each batch where that is exact enough; otherwise it reads it for each wait.
    /// With each batch, the coroutines' budget of operations begins anew (docs/adr/0015).
    static void next_batch() noexcept {
        auto& here = detail::per_thread<detail::thread_state>();
        here.has_batches = true;
        here.batch_time = 0;
        here.completions = 0;
    }

private:
    executor_ref outer_;
    bool outer_has_batches_;
};

/// The executor whose work the calling thread is running; none on a plain thread.
inline executor_ref current_executor() noexcept {
    return detail::per_thread<detail::thread_state>().executor;
}

namespace detail {

/// Wraps the inline resumption of a coroutine without an executor, during another party's call. It
/// hides the executor whose work the thread is running, so that the coroutine's next wait does not
/// adopt that executor.
class inline_scope {
public:
    inline_scope() noexcept {
        auto& here = per_thread<thread_state>();
        outer_ = here.executor;
        was_hidden_ = here.hides_executor;
        here.hides_executor = here.hides_executor || here.executor;
        here.executor = {};
    }
    inline_scope(inline_scope&&) = delete;
    ~inline_scope() {
        auto& here = per_thread<thread_state>();
        here.executor = outer_;
        here.hides_executor = was_hidden_;
    }

private:
    executor_ref outer_;
    bool was_hidden_;
};

/// Wraps the destruction of all that waits on an executor. What begins to wait meanwhile must not
/// do so on this executor, which will never resume it. So there is no current executor, but the
/// thread must not block, because it may be in a task. Scopes nest.
class ending_scope {
public:
    explicit ending_scope(executor_ref executor) noexcept : executor_(executor) {
        auto& here = per_thread<thread_state>();
        outer_ = std::exchange(here.ending, this);
        was_hidden_ = std::exchange(here.hides_executor, true);
    }
    ending_scope(ending_scope&&) = delete;
    ~ending_scope() {
        auto& here = per_thread<thread_state>();
        here.ending = outer_;
        here.hides_executor = was_hidden_;
    }

    /// Whether the calling thread is destroying `executor`.
    static bool is_ending_here(executor_ref executor) noexcept {
        const ending_scope* scope = per_thread<thread_state>().ending;
        while (scope != nullptr && scope->executor_ != executor) {
            scope = scope->outer_;
        }
        return scope != nullptr;
    }

private:
    executor_scope no_executor_{executor_ref()};
    executor_ref executor_;
    const ending_scope* outer_;
    bool was_hidden_;
};

/// Whether the calling thread may block, because it runs no executor's work.
inline bool may_block() noexcept {
    const thread_state& here = per_thread<thread_state>();
    return !here.executor && !here.hides_executor;
}

} // namespace detail

inline bool executor_ref::alone_here() const noexcept {
    return vtable_ != nullptr && vtable_->serial && *this == current_executor();
}

/// A promise that names the executor of its coroutine.
template <class Promise>
concept has_executor = requires(const Promise& promise) {
    { promise.executor() } noexcept -> std::convertible_to<executor_ref>;
};

namespace detail {

/// A promise that was probably meant to name an executor, even if it does so incorrectly, such as
/// by returning a loop instead of the loop's executor.
template <class Promise>
concept names_executor = requires(Promise& promise) {
    { promise.executor() } -> std::convertible_to<executor_ref>;
} || requires(Promise& promise) {
    { promise.executor().executor() } -> std::convertible_to<executor_ref>;
} || requires(Promise& promise) {
    { promise.executor()->executor() } -> std::convertible_to<executor_ref>;
};

} // namespace detail

/// The executor on which a coroutine that suspends now is to be resumed. It is the promise's
/// executor if the promise names one, else the executor running on this thread unless that is
/// temporary. If there is neither, the result refers to no executor, and the party that completes
/// the wait resumes the coroutine inline.
template <class Promise>
executor_ref executor_of(std::coroutine_handle<Promise> coroutine) noexcept {
    static_assert(has_executor<Promise> || !detail::names_executor<Promise>,
                  "tryst: promise_type::executor() must be const and noexcept, and return an "
                  "executor_ref");
    if constexpr (has_executor<Promise>) {
        if (const executor_ref executor = std::as_const(coroutine.promise()).executor()) {
            assert(detail::shares_variables(executor) &&
                   "tryst: a plugin uses its program's loop: see docs/install.md");
            return executor;
        }
    }
    const executor_ref here = current_executor();
    return here.is_temporary() ? executor_ref() : here;
}

/// The awaitable of `executor_ref::schedule`. Its coroutine may be destroyed, on the executor,
/// while it is queued. If the coroutine's promise has `set_executor(executor_ref)`, as a task's
/// promise does, this sets the new executor there, so that the coroutine stays on it.
/// @resumes on the executor.  @throws nothing.
/// @sync everything before it happens-before the continuation of the coroutine.
/// @cancellation none.  @allocation none beyond that of the executor's `post`.
class [[nodiscard]] schedule_operation : private executor_node, public detail::not_in_asio {
public:
    /// Precondition: there is an executor.
    explicit schedule_operation(executor_ref executor) noexcept : executor_(executor) {
        assert(executor && "tryst: schedule() needs an executor");
    }
    schedule_operation(schedule_operation&&) = delete;
    ~schedule_operation() {
        if (coroutine_) {
            executor_.retract(this);
        }
    }

    /// For `co_await`: always suspends.
    bool await_ready() const noexcept { return false; }

    /// For `co_await`: posts the coroutine.
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> coroutine,
                       detail::location where = detail::location::current()) noexcept {
        coroutine_ = coroutine;
        where_.set(where);
        if constexpr (has_executor<Promise> &&
                      requires { coroutine.promise().set_executor(executor_); }) {
            coroutine.promise().set_executor(executor_);
        }
        run = [](executor_node* node) noexcept {
            detail::running_task::resume(static_cast<schedule_operation*>(node)->coroutine_,
                                         detail::running_task::tracks<Promise>);
        };
        executor_.post(this);
    }

    /// For `co_await`: returns nothing.
    void await_resume() noexcept { coroutine_ = nullptr; }

private:
    executor_ref executor_;
    std::coroutine_handle<> coroutine_;
    detail::location_slot where_; // directly behind `coroutine_`, for debuggers
};

inline auto executor_ref::schedule() const noexcept {
    return schedule_operation(*this);
}

/// @}
} // namespace tryst
