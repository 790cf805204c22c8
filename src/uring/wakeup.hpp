// SPDX-License-Identifier: MIT
/// @file
/// How a context that sleeps in the kernel is woken by other threads.
/// Linux, liburing. Model: tests/spin/uring.pml.
#pragma once

#include "ring.hpp"

#include <tryst/detail/platform/cpu.hpp>
#include <tryst/detail/run/inbox.hpp>
#include <tryst/uring/descriptor.hpp>

#include <cstdint>
#include <optional>

namespace tryst::uring::detail {

/* The owner's state
 *   awake    --prepare_sleep [M3]--> sleeping   the inbox's word says that the owner sleeps
 *   sleeping --a wake arrives------> awake
 *   sleeping --finish_sleep [M4]---> awake      another completion ended the sleep
 *   sleeping --finish_sleep [M4]---> owed       likewise, but a poster saw the owner sleep [M1]
 *   owed     --a wake arrives------> awake
 * All by the owner. The labels are those of detail/run/inbox.hpp.
 *
 *  1. The owner sleeps in its ring, until any completion.
 *  2. The poster whose post finds the owner sleeping [M1] must wake it; no other poster does.
 *  3. A poster whose thread runs a context itself sends a message from its own ring to the owner's
 *     (IORING_OP_MSG_RING). Any other poster writes to the owner's eventfd, which a poll watches.
 *  4. The kernel may refuse a message. The sender finds that out in its own ring, and writes to the
 *     eventfd instead.
 *
 * I31. A poster reads the numbers of ring and eventfd before it posts, and touches nothing of the
 *     context afterwards.
 * I32. While it is owed a wake, the owner neither prepares to sleep again nor leaves `run`. So no
 *     poster is inside when `run` has returned, and the context may be destroyed.
 * I33. There is one wake for each sleep that a poster ends: a running context is never woken,
 *     except that a wake which is owed may arrive late.
 * I34. A sender does not leave `run` before it has seen whether its messages were refused. */
class wakeup {
public:
    /// The numbers by which to wake a context that sleeps.
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
    /// @returns the owner's numbers if the caller must wake it.
    [[nodiscard]] std::optional<sleeper> post(executor_node* node) noexcept;

    static void write_eventfd(int eventfd) noexcept;

    // ---- By the owner, as all below.

    /// Wakes another context from this one's ring.
    /// @returns whether the kernel has taken the message; it may still refuse it.
    bool send_message(const sleeper& other) noexcept;

    bool has_mail() const noexcept { return inbox_.has_mail(); }
    executor_node* take_mail() noexcept { return inbox_.take(); }

    /// Arms the poll of the eventfd, unless it is armed.
    /// @returns false if the kernel takes no entry now.
    bool watch() noexcept;

    /// @returns whether the owner may sleep; not if there is mail. Precondition: `watch()`
    [[nodiscard]] bool prepare_sleep() noexcept;
    /// To be called after each sleep.
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
