// SPDX-License-Identifier: MIT
/// @file
/// One operation of the kernel's in progress: what `context`'s members return, to be awaited once.
/// Standard library only. Never allocates.
#pragma once

#include <tryst/executor.hpp>
#include <tryst/uring/descriptor.hpp>
#include <tryst/uring/limits.hpp>
#include <tryst/uring/result.hpp>

#include <cassert>
#include <cerrno>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>

namespace tryst::uring {

class context;

namespace detail {

class reactor;
class stream_base;

/// What is asked for. All but the last two rows goes to the kernel.
enum class opcode : std::uint8_t {
    // clang-format off
    nop, read, write, read_fixed, write_fixed, fsync, openat, close,
    accept, connect, send, recv, poll,
    readv, writev, sendmsg, recvmsg, splice,
    statx, unlinkat, renameat, mkdirat, fallocate, shutdown, socket,
    accept_multishot, recv_multishot, // completed again and again
    timeout, // a timer of the loop's
    next, // the next completion of a multishot operation
    // clang-format on
};

/// The arguments, in the form of a submission queue entry. What they point to must stay until the
/// operation is over.
struct request {
    opcode code = opcode::nop;
    std::uint16_t buffer = 0; ///< Registered, or a group of provided ones. splice: the flags.
    int descriptor = -1;
    std::uint32_t length = 0;
    std::uint32_t flags = 0; ///< splice: the file to read from.
    std::uint64_t address = 0;
    std::uint64_t offset = 0;
};

/// A place in a circular list.
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
    void insert_before(list_links& place) noexcept {
        previous = place.previous;
        following = &place;
        previous->following = following->previous = this;
    }

    list_links* previous = this;
    list_links* following = this;
};

/* An operation
 *   created   --start------> waiting    for room in the submission queue, or for a timer or a stream
 *   waiting   --submit-----> in flight  the kernel has it, and all that it points to
 *   in flight --completion-> over, or waiting again: interrupted, or the loop was left meanwhile
 *   waiting   --stop, deadline, event--> over
 * A stop or a deadline that finds it in flight asks the kernel to cancel it and changes nothing else: it
 * ends with its own completion, which may bring a result. Not before the kernel has answered, though, so that
 * the answer cannot be taken for one about a later operation of the same address. If it is that there is no such
 * operation, it may have been on its way from one part of the kernel to another, and the kernel is asked again.
 *
 * All this happens on the loop's thread. A stop, requested wherever, posts the operation's node to the
 * loop; an operation that is over while that node is under way is resumed by it. */
class operation_base : tryst::executor_node, tryst::timer_node, list_links {
public:
    operation_base(reactor& owner, const request& what, limits&& until) noexcept
        : reactor_(&owner), request_(what), limits_(std::move(until)) {}
    operation_base(const operation_base&) = delete;
    operation_base& operator=(const operation_base&) = delete;

    bool await_ready() noexcept {
        assert(state_ == state::created && "tryst: an operation can be awaited only once");
        if (limits_.stop().stop_requested()) {
            state_ = state::over;
            result_ = -ECANCELED;
            return true;
        }
        return false;
    }

    void await_suspend(std::coroutine_handle<> coroutine) noexcept;

protected:
    ~operation_base() {
        if (coroutine_) {
            abandon();
        }
    }

    /// Ends it, for a coroutine that will not be resumed; waits until the kernel has let go of it.
    void abandon() noexcept;

    bool is_over() const noexcept { return state_ == state::over; }
    bool was_submitted() const noexcept { return submitted_; }
    const request& arguments() const noexcept { return request_; }
    const char* name() const noexcept;
    int outcome() const noexcept { return result_; }
    std::uint32_t completion_flags() const noexcept { return flags_; }
    std::error_code error() const noexcept {
        return {result_ < 0 ? -result_ : 0, std::system_category()};
    }

    /// The outcome, or -1, for who takes the file descriptor that it is.
    int take_descriptor() noexcept { return is_over() ? std::exchange(result_, -1) : -1; }

private:
    friend class reactor;
    friend class stream_base;
    friend class submissions;

    enum class state : std::uint8_t { created, waiting, in_flight, over };

    struct post_stop {
        operation_base* operation;
        void operator()() const noexcept;
    };

    reactor* reactor_;
    stream_base* stream_ = nullptr; ///< Whose source it is, or whose next completion it waits for.
    request request_;
    int result_ = 0;
    std::uint32_t flags_ = 0; ///< The completion's.
    state state_ = state::created;
    bool submitted_ = false; ///< The kernel has seen it.
    bool cancel_asked_ = false; ///< The kernel has not answered yet whether it can cancel it.
    bool completed_ = false; ///< And meanwhile it has ended.
    std::uint8_t cancel_tries_ = 0;
    bool cancelled_ = false; ///< A stop or the deadline wants it to end.
    bool expired_ = false; ///< The deadline.
    bool set_aside_ = false; ///< The loop is left: it shall start again when the loop goes on.
    bool armed_ = false; ///< Its timer is in the loop's heap.
    bool stop_posted_ = false; ///< Its node is on its way to the loop.
    std::coroutine_handle<> coroutine_; ///< Who waits; null once resumed.
    limits limits_;
    std::optional<std::stop_callback<post_stop>> stop_callback_;
};

} // namespace detail

/// One operation, lazily started: nothing happens until it is awaited, on its context, at most once.
///
/// @returns     `result<T>`: the kernel's result, or its error with the operation's name.
/// @throws      nothing.
/// @progress    the thread does not block; an operation that has to wait does so in the kernel.
/// @resumes     on its context, by way of the queue of what is ready.
/// @cancellation by `limits`: a stop or a deadline asks the kernel to cancel; the operation ends with its own
///              completion, and a result that arrived wins. A stop that came before it started is
///              final. Interruptions (EINTR) are not seen: the operation starts again.
///              The coroutine may be destroyed while it waits, on its context: that waits until the
///              kernel has let go of the memory.
/// @sync        as the kernel orders what it transfers.
/// @allocation  none. What the arguments point to must stay until it is over.
template <class T>
class [[nodiscard]] operation : public detail::operation_base {
public:
    using operation_base::operation_base;

    ~operation() {
        abandon();
        if constexpr (std::is_same_v<T, descriptor>) {
            descriptor unclaimed(take_descriptor());
        }
    }

    /// For `co_await`: the result.
    result<T> await_resume() noexcept {
        if (outcome() < 0) {
            return {name(), error()};
        }
        if constexpr (std::is_same_v<T, descriptor>) {
            return {name(), descriptor(take_descriptor())};
        } else {
            return {name(), static_cast<T>(outcome())};
        }
    }
};

/// One that only succeeds or fails.
template <>
class [[nodiscard]] operation<void> : public detail::operation_base {
public:
    using operation_base::operation_base;

    /// For `co_await`: the result.
    result<void> await_resume() noexcept { return result<void>(name(), error()); }
};

/// Closes a file. It is closed even if the operation is cancelled, or never awaited.
class [[nodiscard]] close_operation : public operation<void> {
public:
    using operation<void>::operation;

    ~close_operation() {
        abandon();
        if (!was_submitted()) { // else the kernel closes, whatever it returns
            descriptor left_open(arguments().descriptor);
        }
    }
};

} // namespace tryst::uring
