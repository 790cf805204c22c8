// SPDX-License-Identifier: MIT
/// @file
/// Accepts many connections of a listening socket with a single request to the kernel.
#pragma once

#include <tryst/uring/context.hpp>
#include <tryst/uring/descriptor.hpp>
#include <tryst/uring/detail/stream.hpp>
#include <tryst/uring/limits.hpp>
#include <tryst/uring/result.hpp>

#include <utility>

namespace tryst::uring {

/// Accepts connections as they arrive: by a multishot accept, or by repeated accepts on older
/// kernels. Make it, use it and destroy it on its context, after the operation that waits for it.
/// The destructor closes the connections that were not taken. At most 64 are accepted ahead of
/// `next`. If more arrive before the stream can stop accepting, they need more memory; without it,
/// they are closed.
class accept_stream : private detail::stream_base {
public:
    /// @param listener  a listening socket, which must remain open as long as the stream exists.
    /// @throws std::bad_alloc
    accept_stream(context& owner, int listener);
    ~accept_stream();

    /// Waits for the next connection; otherwise like an `operation<descriptor>`.
    class [[nodiscard]] next_operation : public stream_base::next_operation {
    public:
        using stream_base::next_operation::next_operation;
        ~next_operation() {
            abandon();
            descriptor unclaimed(take_outcome());
        }
        /// For `co_await`: the connection.
        result<descriptor> await_resume() noexcept {
            if (outcome() < 0) {
                return {"accept", error()};
            }
            return {"accept", descriptor(take_outcome())};
        }
    };

    /// The next connection, with SOCK_CLOEXEC. Only one operation may wait for a stream at a time.
    /// @returns the connection, or an error such as EMFILE, after which `next` may be called again.
    next_operation next(auto... limit) noexcept { return {*this, {std::move(limit)...}}; }

private:
    static void drop(stream_base& self, completion lost) noexcept;
};

} // namespace tryst::uring
