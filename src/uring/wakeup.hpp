// SPDX-License-Identifier: MIT
/// @file
/// Wakes a context that sleeps in the kernel from other threads.
/// Model: tests/spin/uring.pml.
#pragma once

#include "ring.hpp"

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/inbox.hpp>
#include <tryst/uring/descriptor.hpp>

#include <cstdint>
#include <optional>

namespace tryst::uring::detail {

/* The owner's state
 *   awake    --prepare_sleep [M3]--> sleeping   the inbox's word says that the owner sleeps
 *   sleeping --a wake arrives------> awake
 *   sleeping --finish_sleep [M4]---> awake      another completion ended the sleep
 *   sleeping --finish_sleep [M4]---> owed       likewise, but a poster saw the owner asleep [M1]
 *   owed     --a wake arrives------> awake
 * The owner makes all transitions. The labels are those of detail/run/inbox.hpp.
 *
 *  1. The owner sleeps in its ring until a completion arrives.
 *  2. The poster whose post finds the owner sleeping [M1] must wake it; no other poster does.
 *  3. A poster whose thread runs a context itself sends a message from its own ring to the owner's
 *     (IORING_OP_MSG_RING). Any other poster writes to the owner's eventfd, which a poll watches.
 *  4. The kernel may refuse a message. The sender finds that out in its own ring, and writes to the
 *     eventfd instead.
 *
 * I31. A poster reads the descriptors of the ring and the eventfd before it posts, and does not
 *     touch the context afterwards.
 * I32. While it is owed a wake, the owner does not mark its inbox as sleeping again, though it may
 *     sleep until that wake, and does not leave `run`. So no poster uses the context any more when
 *     `run` has returned, and the context may be destroyed.
 * I33. There is one wake for each sleep that a poster ends. A running context is woken only if the
 *     wake was owed and arrives late.
 * I34. A sender does not leave `run` before it has seen whether its messages were refused. */
class wakeup {
public:
    /// The descriptors by which a sleeping context is woken.
    struct sleeper {
        int ring;
        int eventfd;
    };

    /// @throws std::system_error if there is no eventfd.
    explicit wakeup(ring& owners);
    wakeup(const wakeup&) = delete;
    wakeup& operator=(const wakeup&) = delete;

    // ---- By any thread.

    /// Hands over `node`.
    /// @returns the owner's descriptors if the caller must wake it.
    [[nodiscard]] std::optional<sleeper> post(executor_node* node) noexcept;

    static void write_eventfd(int eventfd) noexcept;

    // ---- By the owner, as all functions below.

    /// Wakes another context from this one's ring.
    /// @returns whether the kernel has taken the submission; it may still refuse the message.
    bool send_message(const sleeper& other) noexcept;

    bool has_mail() const noexcept { return inbox_.has_mail(); }
    executor_node* take_mail() noexcept { return inbox_.take(); }

    /// Arms the poll of the eventfd, unless it is armed.
    /// @returns false if the kernel takes no entry now.
    bool watch() noexcept;

    /// Prepares to sleep. Precondition: `watch()` returned true.
    /// @returns false if there is mail: then the owner must not sleep.
    [[nodiscard]] bool prepare_sleep() noexcept;
    /// Call after each sleep.
    void finish_sleep() noexcept;
    bool is_owed() const noexcept { return state_ == state::owed; }

    // ---- Completions.
    void on_eventfd() noexcept;
    void on_wake() noexcept;
    void on_refused_message(int error, int eventfd) noexcept;

private:
    enum class state : std::uint8_t { awake, sleeping, owed };

    ring& ring_;
    uring::descriptor eventfd_;
    state state_ = state::awake;
    bool is_watching_ = false; ///< The poll of the eventfd is armed.
    bool can_message_ = true; ///< False once the kernel has said that it does not know messages.
    alignas(tryst::detail::line_pair) tryst::detail::inbox inbox_; // other threads write to it
};

} // namespace tryst::uring::detail
