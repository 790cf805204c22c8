// SPDX-License-Identifier: MIT
/// @file
/// The rest of a coroutine that awaits others, which may end on another executor.
/// Standard library only. Never allocates, blocks or throws.
#pragma once

#include <tryst/executor.hpp>

#include <coroutine>

namespace tryst::detail {

/// Lives in the frame of the coroutine that awaits, from its suspension until it is resumed.
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

    /// Takes note of a coroutine that is about to suspend.
    template <class Promise>
    void set(std::coroutine_handle<Promise> coroutine) noexcept {
        coroutine_ = coroutine;
        executor_ = executor_of(coroutine);
    }

    /// Where the coroutine is to be resumed.
    executor_ref executor() const noexcept { return executor_; }

    /// @returns what the caller must resume now: the coroutine, if this thread runs its executor's work;
    ///   else none, and the coroutine has been posted there and must not be touched any more.
    std::coroutine_handle<> resume() noexcept {
        if (!executor_ || executor_ == current_executor() || executor_.running_here()) {
            return coroutine_;
        }
        queued_ = true;
        run = [](executor_node* node) noexcept {
            auto& self = *static_cast<continuation*>(node);
            self.queued_ = false;
            self.coroutine_.resume();
        };
        executor_.post(this);
        return std::noop_coroutine();
    }

private:
    std::coroutine_handle<> coroutine_;
    executor_ref executor_;
    bool queued_ = false;
};

} // namespace tryst::detail
