// SPDX-License-Identifier: MIT
/// @file
/// A multishot operation: one that the kernel, once asked, completes again and again.
/// Standard library only.
#pragma once

#include <tryst/uring/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace tryst::uring::detail {

/// The source of a stream, and its completions that nobody has taken yet. The source starts when somebody
/// waits and it is not on; it ends by an error, or because the stream has run full, and a kernel that does
/// not know multishot ends it each time.
class stream_base {
public:
    stream_base(const stream_base&) = delete;
    stream_base& operator=(const stream_base&) = delete;

protected:
    struct completion {
        int result;
        std::uint32_t flags;
    };

    /// Completions that nobody has taken yet, first in, first out. Allocates for more than it was made for.
    class completion_queue {
    public:
        explicit completion_queue(std::size_t room) { items_.reserve(room); }

        bool empty() const noexcept { return first_ == items_.size(); }
        std::size_t size() const noexcept { return items_.size() - first_; }

        /// @returns whether there was memory.
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
            : operation_base(*stream.reactor_, {.code = opcode::next}, std::move(until)) {
            stream_ = &stream;
        }
        ~next_operation() { abandon(); }
    };

    /// @param room  for how many completions the source is left on; one more is its last. @throws std::bad_alloc
    /// @param drop  gives back what a completion holds, for which there is no memory.
    stream_base(reactor& owner, const request& what, std::size_t room,
                void (*drop)(stream_base&, completion) noexcept)
        : reactor_(&owner), source_(owner, what), room_(room), drop_(drop), untaken_(room + 1) {
        source_.stream_ = this;
    }
    ~stream_base() = default;

    reactor& owner() const noexcept { return *reactor_; }

    /// The group of buffers into which the source receives.
    std::uint16_t group() const noexcept { return source_.arguments().buffer; }
    void set_group(std::uint16_t group) noexcept { source_.request_.buffer = group; }

    /// Ends the source; the kernel has let go of it when this returns.
    void end() noexcept { source_.end(); }

    /// What nobody has taken.
    completion_queue& untaken() noexcept { return untaken_; }

private:
    friend class reactor;

    class source : public operation_base {
    public:
        source(reactor& owner, const request& what) noexcept : operation_base(owner, what, {}) {}
        using operation_base::arguments;
        void end() noexcept { abandon(); }
    };

    void wait(operation_base& next) noexcept;
    void start_source() noexcept;
    void complete(int result, std::uint32_t flags) noexcept;

    reactor* reactor_;
    source source_;
    std::size_t room_;
    void (*drop_)(stream_base&, completion) noexcept;
    operation_base* waiting_ = nullptr;
    bool started_for_waiter_ = false; ///< The source, since that one waits.
    completion_queue untaken_;
};

} // namespace tryst::uring::detail
