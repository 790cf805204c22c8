// SPDX-License-Identifier: MIT
/// @file
/// A multishot operation, which the kernel completes again and again.
#pragma once

#include <tryst/uring/detail/operation_base.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace tryst::uring::detail {

/* A stream consists of a multishot operation, called its source, and a queue of the completions
 * that have not been taken yet.
 *   1. A `next_operation` takes the first completion from the queue. If there is none, it waits,
 *      and starts the source unless the source is in the kernel already.
 *   2. A completion goes to the operation that waits, or else into the queue.
 *   3. When the queue is full, the source is cancelled. It also ends when it fails, and after each
 *      completion if the kernel does not know multishot operations. Then step 1 starts it again. */
class stream_base {
public:
    stream_base(const stream_base&) = delete;
    stream_base& operator=(const stream_base&) = delete;

protected:
    struct completion {
        int result;
        std::uint32_t flags;
    };

    /// The completions not taken yet, first in, first out. Allocates only if it holds more than
    /// `room`.
    class completion_queue {
    public:
        explicit completion_queue(std::size_t room) { items_.reserve(room); }

        bool empty() const noexcept { return first_ == items_.size(); }
        std::size_t size() const noexcept { return items_.size() - first_; }

        /// @returns false if there is no memory.
        bool push(completion next) noexcept {
            if (items_.size() == items_.capacity()) {
                items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
                first_ = 0;
            }
            try {
                items_.push_back(next);
            } catch (const std::bad_alloc&) {
                return false;
            }
            return true;
        }

        /// Precondition: not empty.
        completion pop() noexcept {
            const completion first = items_[first_++];
            if (empty()) {
                items_.clear();
                first_ = 0;
            }
            return first;
        }

    private:
        std::vector<completion> items_;
        std::size_t first_ = 0;
    };

    /// Waits for the next completion.
    class next_operation : public operation_base {
    public:
        next_operation(stream_base& stream, limits&& until) noexcept
            : operation_base(*stream.reactor_, opcode::next, std::move(until)) {
            stream_ = &stream;
        }

    protected:
        stream_base& stream() const noexcept { return *stream_; }
    };

    /// @param room  the number of queued completions at which the source is cancelled.
    /// @param drop  releases the resource of a completion for which there is no memory.
    /// @throws std::bad_alloc
    stream_base(reactor& owner, const request& what, std::size_t room,
                void (*drop)(stream_base&, completion) noexcept)
        : reactor_(&owner), source_(owner, what), room_(room), drop_(drop), untaken_(room + 1) {
        source_.stream_ = this;
    }
    ~stream_base() {
        assert(waiting_ == nullptr &&
               "tryst: a stream was destroyed while an operation waited for it");
    }

    reactor& owner() const noexcept { return *reactor_; }

    /// The group of buffers from which the kernel chooses.
    std::uint16_t group() const noexcept { return source_.arguments().buffer; }
    void set_group(std::uint16_t group) noexcept { source_.request_.buffer = group; }

    /// Ends the source. When this returns, the source is not in the kernel (I36).
    void end() noexcept { source_.end(); }

    /// The completions not taken yet.
    completion_queue& untaken() noexcept { return untaken_; }

private:
    friend class reactor;

    class source : public operation_base {
    public:
        source(reactor& owner, const request& what) noexcept : operation_base(owner, what, {}) {}
        using operation_base::arguments;
        using operation_base::is_over;
        void end() noexcept { abandon(); }
    };

    /// Whether the source is in the kernel, or on its way there.
    bool is_started() const noexcept { return source_.has_started() && !source_.is_over(); }
    void wait(operation_base& next) noexcept;
    void complete(int result, std::uint32_t flags) noexcept;
    void forget_waiter() noexcept;

    reactor* reactor_;
    source source_;
    std::size_t room_;
    void (*drop_)(stream_base&, completion) noexcept;
    operation_base* waiting_ = nullptr; ///< The `next_operation` that waits, if there is one.
    bool started_for_waiter_ = false; ///< The source was started after `waiting_` began to wait.
    completion_queue untaken_;
};

} // namespace tryst::uring::detail
