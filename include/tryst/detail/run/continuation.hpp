// SPDX-License-Identifier: MIT
/// @file
/// Resumes a coroutine whose awaited work may complete on another executor.
/// Standard library only. Never allocates, blocks or throws.
#pragma once

#include <tryst/executor.hpp>

#include <coroutine>

namespace tryst::detail {

/// Lives in the frame of the awaiting coroutine, from its suspension until it is resumed.
class continuation : executor_node {
public:
    continuation() = default;
    continuation(const continuation&) = delete;
    continuation& operator=(const continuation&) = delete;
    /// The frame may be destroyed, on its executor, while its resumption is queued there.
    ~continuation() {
        if (queued_) {
            executor_.retract(this);
        }
    }

    /// Remembers a coroutine that is about to suspend.
    template <class Promise>
    void set(std::coroutine_handle<Promise> coroutine) noexcept {
        coroutine_ = coroutine;
        executor_ = tryst::executor_of(coroutine);
        // Set here, because `retract` may look for the node before another thread has posted it.
        run = resume_posted<running_task::tracks<Promise>>;
    }

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
    executor_ref executor_;
    bool queued_ = false;
};

} // namespace tryst::detail
