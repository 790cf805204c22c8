// SPDX-License-Identifier: MIT
#include "wakeup.hpp"

#include "failure.hpp"
#include "trace.hpp"

#include <cerrno>

#include <poll.h>
#include <sys/eventfd.h>

namespace tryst::uring::detail {

wakeup::wakeup(ring& owners) : ring_(owners), eventfd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!eventfd_) {
        throw failure(errno, "eventfd");
    }
}

std::optional<wakeup::sleeper> wakeup::post(executor_node* node) noexcept {
    const sleeper here{ring_.descriptor(), eventfd_.get()}; // I31
    if (!inbox_.post(node)) {
        return std::nullopt;
    }
    TRYST_TRACE(wake_due);
    return here;
}

void wakeup::write_eventfd(int eventfd) noexcept {
    if (::eventfd_write(eventfd, 1) != 0) {
        TRYST_TRACE(wake_in_vain);
    }
}

bool wakeup::send_message(const sleeper& other) noexcept {
    io_uring_sqe* const entry =
        can_message_ ? ring_.new_entry(IORING_OP_MSG_RING, {tag::sent_wake, other.eventfd})
                     : nullptr;
    if (entry == nullptr) {
        return false;
    }
    TRYST_TRACE(wake_by_message, other.ring);
    entry->fd = other.ring;
    entry->off = user_data(tag::wake).word;
    entry->flags = ring_.quiet_flag();
    ring_.submit(); // at once: this thread may be about to wait for the other context
    if (ring_.has_unsubmitted()) { // the kernel has not taken all entries
        ring_.revoke(*entry);
        return false;
    }
    return true;
}

bool wakeup::watch() noexcept {
    io_uring_sqe* const entry =
        is_watching_ ? nullptr : ring_.new_entry(IORING_OP_POLL_ADD, tag::eventfd);
    if (entry != nullptr) {
        entry->fd = eventfd_.get();
        entry->poll32_events = POLLIN;
        is_watching_ = true;
    }
    return is_watching_;
}

bool wakeup::prepare_sleep() noexcept {
    if (state_ == state::owed) { // I32
        if (inbox_.has_mail()) {
            return false;
        }
        TRYST_TRACE(owed_sleep);
        return true;
    }
    if (!inbox_.prepare_wait()) {
        return false;
    }
    state_ = state::sleeping;
    return true;
}

void wakeup::finish_sleep() noexcept {
    if (state_ == state::sleeping) {
        TRYST_TRACE(own_wake);
        state_ = inbox_.cancel_wait() ? state::awake : state::owed;
        if (state_ == state::owed) {
            TRYST_TRACE(owed_wake);
        }
    }
}

void wakeup::on_eventfd() noexcept {
    is_watching_ = false;
    eventfd_t wakes = 0;
    if (::eventfd_read(eventfd_.get(), &wakes) == 0) {
        on_wake();
    }
}

void wakeup::on_wake() noexcept {
    if (state_ == state::awake) {
        TRYST_TRACE(undue_wake); // I33
    }
    state_ = state::awake;
}

void wakeup::on_refused_message(int error, int eventfd) noexcept {
    TRYST_TRACE(refused_message);
    can_message_ = can_message_ && error != EINVAL;
    write_eventfd(eventfd);
}

} // namespace tryst::uring::detail
