// SPDX-License-Identifier: MIT
/// @file
/// The connections to a listening socket, one after the other, for one request to the kernel.
/// Standard library only.
#pragma once

#include <tryst/uring/context.hpp>
#include <tryst/uring/descriptor.hpp>
#include <tryst/uring/detail/stream.hpp>
#include <tryst/uring/limits.hpp>
#include <tryst/uring/result.hpp>

#include <utility>

namespace tryst::uring {

/// Accepts connections as they come: multishot accept, or accept again and again where the kernel does not
/// know it. Lives on its context. What was accepted and not taken is closed by the destructor.
class accept_stream : private detail::stream_base {
public:
    /// @param listener  a listening socket, which must stay open as long as this.
    /// @throws std::bad_alloc
    accept_stream(context& owner, int listener);
    ~accept_stream();

    /// Waits for the next connection: an `operation<descriptor>` but for where it comes from.
    class [[nodiscard]] next_operation : public stream_base::next_operation {
    public:
        using stream_base::next_operation::next_operation;
        ~next_operation() {
            abandon();
            descriptor unclaimed(take_descriptor());
        }
        /// For `co_await`: the connection.
        result<descriptor> await_resume() noexcept {
            if (outcome() < 0) {
                return {"accept", error()};
            }
            return {"accept", descriptor(take_descriptor())};
        }
    };

    /// The next connection, with SOCK_CLOEXEC. One waits at a time.
    /// @returns after an error (EMFILE, say) it may be called again.
    next_operation next(limits until = {}) noexcept { return {*this, std::move(until)}; }

private:
    static void drop(stream_base& self, completion lost) noexcept;
};

} // namespace tryst::uring
