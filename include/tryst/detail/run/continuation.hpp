// SPDX-License-Identifier: MIT
/// @file
/// Resumes a coroutine whose awaited work may complete on another executor.
/// Standard library only. Never allocates, blocks or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/location.hpp>
#include <tryst/executor.hpp>

#include <coroutine>
#include <cstdint>

namespace tryst::detail {

/* How an awaiter and its work agree who continues the awaiter
 *   running --suspend[T1]--> awaited          the awaiter has suspended
 *   awaited --withdraw-----> running          the awaiter is being destroyed
 *   running --leave[T2]----> finished, lost   the awaiter finds this at [T1], and goes on
 *   awaited --leave[T2]----> finished, lost   the party that leaves resumes the awaiter
 *   running --leave[T2]----> dropped          the work will not be awaited
 *
 * `lost` says that there is no result. A party that leaves later finds that another came first.
 *
 * I16. A coroutine that awaits work continues exactly once. [T1] and [T2] change the same word, so
 *     either [T1] finds that the work has ended, or the first [T2] finds `awaited`. (Work that has
 *     suspended may end on another thread before its awaiter executes [T1].) */
class handshake {
public:
    enum class state : std::uint8_t { running, awaited, dropped, finished, lost };

    /// Publishes the awaiter, which has suspended. Call this in a function that is not inlined:
    /// after it the awaiter's frame must not be touched, but a compiler that inlines this into the
    /// awaiter may keep variables there.
    /// @returns false if the work has ended: the caller continues the awaiter.
    bool suspend() noexcept {
        state seen = state::running;
        // [T1] release, pairs with [T2]: the awaiter's frame. Failure acquire, pairs with [T2]:
        // everything that the work did.
        return word_.compare_exchange_strong(seen, state::awaited, std::memory_order_release,
                                             std::memory_order_acquire);
    }

    /// Takes a suspended awaiter back. @returns false if the work is about to resume it.
    bool withdraw() noexcept {
        state seen = state::awaited;
        // Relaxed: the awaiter was not used. Failure relaxed: the resumption is about to be posted,
        // and happens-before its retraction.
        return word_.compare_exchange_strong(seen, state::running, std::memory_order_relaxed,
                                             std::memory_order_relaxed);
    }

    /// Ends the part of the work, or of a handle that will not await it.
    /// @returns what the word was.
    state leave(state how) noexcept {
        // [T2] release, pairs with [T1] and itself: everything that the caller did. Acquire, pairs
        // with [T1] and itself: the awaiter, or the end of the other part.
        return word_.exchange(how, std::memory_order_acq_rel);
    }

private:
    atomic<state> word_{state::running};
};

/// Lives in the frame of the awaiting coroutine, from its suspension until it is resumed.
class continuation : executor_node {
public:
    continuation() = default;
    continuation(continuation&&) = delete;
    /// The frame may be destroyed, on its executor, while its resumption is queued there.
    ~continuation() {
        if (queued_) {
            executor_.retract(this);
        }
    }

    /// Remembers a coroutine that is about to suspend, and where.
    template <class Promise>
    void set(std::coroutine_handle<Promise> coroutine, location where) noexcept {
        coroutine_ = coroutine;
        where_.set(where);
        executor_ = tryst::executor_of(coroutine);
        // Set here, because `retract` may look for the node before another thread has posted it.
        run = resume_posted<running_task::tracks<Promise>>;
    }

    /// Where the coroutine is suspended.
    location where() const noexcept { return where_.get(); }

    /// Whether the coroutine is a task.
    bool is_task() const noexcept { return run == resume_posted<true>; }

    /// The executor on which the coroutine is to be resumed.
    executor_ref executor() const noexcept { return executor_; }

    /// Resumes the coroutine, or posts it to its executor. After that, `*this` must not be touched.
    /// @param from  the coroutine that has finished, if one has.
    /// @returns the coroutine that the caller must resume: the awaiting one if it may run here,
    ///   else a no-op coroutine.
    std::coroutine_handle<> resume(std::coroutine_handle<> from) noexcept {
        const bool here = executor_ ? executor_ == current_executor() || executor_.running_here()
                                    : !current_executor();
        if (here) {
            running_task::pass_on(from, coroutine_, is_task());
            return coroutine_;
        }
        post();
        return std::noop_coroutine();
    }

    /// Posts the coroutine to its executor; without one, resumes it inline. After that, `*this`
    /// must not be touched.
    void post() noexcept {
        if (!executor_) {
            const inline_scope here;
            running_task::resume(coroutine_, is_task());
            return;
        }
        queued_ = true;
        executor_.post(this);
    }

    /// Takes the posted coroutine out of its executor's queue. @returns false if it is not there
    /// yet. Call on the executor.
    bool retract() noexcept {
        if (!executor_.retract(this)) {
            return false;
        }
        queued_ = false;
        return true;
    }

private:
    template <bool IsTask>
    static void resume_posted(executor_node* node) noexcept {
        auto& self = *static_cast<continuation*>(node);
        self.queued_ = false;
        running_task::resume(self.coroutine_, IsTask);
    }

    std::coroutine_handle<> coroutine_;
    location_slot where_; // directly behind `coroutine_`, for debuggers
    executor_ref executor_;
    bool queued_ = false;
};

} // namespace tryst::detail
