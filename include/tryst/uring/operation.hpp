// SPDX-License-Identifier: MIT
/// @file
/// One operation of the kernel: the type that the members of `context` return, to be awaited once.
#pragma once

#include <tryst/uring/descriptor.hpp>
#include <tryst/uring/detail/operation_base.hpp>
#include <tryst/uring/result.hpp>

#include <type_traits>

namespace tryst::uring {

class context;

/// One operation, lazily started: nothing happens until it is awaited, on its context, at most
/// once.
///
/// @returns     `result<T>`: the kernel's result, or its error with the operation's name.
/// @throws      nothing.
/// @progress    the thread does not block; an operation that has to wait does so in the kernel.
/// @resumes     on its context, through the queue of ready coroutines.
/// @cancellation by its limits: a stop or a deadline asks the kernel to cancel the operation. If it
///              completes nevertheless, it returns its result. If a stop was requested before the
///              operation starts, it does not start. An interrupted operation (EINTR) starts
///              again. The coroutine may be destroyed while it waits, on its context. The
///              destructor then waits until the kernel no longer uses the memory.
/// @sync        as the kernel orders the transfer.
/// @allocation  none. The memory that the arguments refer to must remain valid until the operation
///              is over.
template <class T>
class [[nodiscard]] operation : public detail::operation_base {
public:
    using operation_base::operation_base;

    ~operation() {
        abandon();
        if constexpr (std::is_same_v<T, descriptor>) {
            descriptor unclaimed(take_outcome());
        }
    }

    /// For `co_await`: the result.
    result<T> await_resume() noexcept {
        if constexpr (std::is_void_v<T>) {
            return result<void>(name(), error());
        } else {
            if (outcome() < 0) {
                return {name(), error()};
            }
            return {name(), T(take_outcome())};
        }
    }
};

/// Closes a file. The file is closed even if the operation is cancelled, or never awaited.
class [[nodiscard]] close_operation : public operation<void> {
public:
    using operation<void>::operation;

    ~close_operation() {
        abandon();
        // If the operation was submitted, the arguments no longer hold the number, and the kernel
        // closes the file whatever the result is.
        descriptor left_open(arguments().descriptor);
    }
};

} // namespace tryst::uring
