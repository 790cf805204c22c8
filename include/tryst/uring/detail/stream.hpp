// SPDX-License-Identifier: MIT
/// @file
/// A multishot operation: one that the kernel, once asked, completes again and again.
/// Standard library only.
#pragma once

#include <tryst/uring/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

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

    /// Waits for the next completion.
    class next_operation : public operation_base {
    public:
        next_operation(stream_base& stream, limits&& until) noexcept
            : operation_base(*stream.home_, {.code = opcode::next}, std::move(until)) {
            stream_ = &stream;
        }
        ~next_operation() { abandon(); }
    };

    stream_base(reactor& home, const request& what, std::size_t room) noexcept
        : home_(&home), source_(home, what), room_(room) {
        source_.stream_ = this;
    }
    virtual ~stream_base() = default;

    reactor& home() const noexcept { return *home_; }

    /// The group of buffers into which the source receives.
    std::uint16_t group() const noexcept { return source_.arguments().buffer; }
    void set_group(std::uint16_t group) noexcept { source_.request_.buffer = group; }

    /// Ends the source; the kernel has let go of it when this returns.
    void end() noexcept { source_.end(); }

    /// What nobody has taken.
    std::deque<completion>& untaken() noexcept { return untaken_; }

    /// A completion for which there is no memory: gives back what it holds.
    virtual void drop(completion lost) noexcept = 0;

private:
    friend class reactor;

    class source : public operation_base {
    public:
        source(reactor& home, const request& what) noexcept : operation_base(home, what, {}) {}
        using operation_base::arguments;
        void end() noexcept { abandon(); }
    };

    reactor* home_;
    source source_;
    std::size_t room_; ///< For how many completions the source is left on.
    operation_base* waiting_ = nullptr;
    std::deque<completion> untaken_;
};

} // namespace tryst::uring::detail
