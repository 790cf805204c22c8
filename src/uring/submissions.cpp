// SPDX-License-Identifier: MIT
#include "submissions.hpp"

#include "opcodes.hpp"
#include "trace.hpp"
#include "user_data.hpp"

#include <algorithm>

namespace tryst::uring::detail {

namespace {

/// How often to ask for an operation's cancellation, at least. The kernel does not find what it is about to pass
/// on, from a poll to one of its threads, say: this takes task work, which each look at the completions runs,
/// a step at a time. (A connect to a busy local socket takes 128.) Nor does it find what a device is at, which
/// ends by itself.
constexpr std::uint8_t cancel_tries = 8;

} // namespace

void submissions::submit(operation_base& operation) noexcept {
    if (!queued_.alone() || !try_submit(operation)) {
        queue(operation);
    }
}

void submissions::restart(operation_base& operation, bool set_aside) noexcept {
    const bool is_oldest = set_aside && !waits_for_worker(operation.request_.code);
    operation.insert_before(is_oldest ? *queued_.following : queued_);
}

void submissions::retry_cancel(operation_base& operation) noexcept {
    if (operation.cancel_tries_ < cancel_tries || ring_.has_task_work()) {
        operation.unlink();
        operation.insert_before(cancels_);
    }
}

void submissions::cancel_all() noexcept {
    for (list_links* link = in_flight_.previous; link != &in_flight_;) { // the newest first
        auto& operation = static_cast<operation_base&>(*link);
        link = link->previous;
        const opcode code = operation.request_.code;
        const bool is_asked_for = operation.cancelled_ || operation.set_aside_;
        if (!is_asked_for && code != opcode::close) {
            TRYST_TRACE(step::set_aside);
            operation.set_aside_ = true;
            operation.unlink();
            operation.insert_before(waits_for_worker(code) ? *cancels_.following : cancels_);
        }
    }
}

bool submissions::try_submit(operation_base& operation) noexcept {
    io_uring_sqe* const entry = ring_.new_entry();
    if (entry == nullptr) {
        return false;
    }
    fill(*entry, operation.request_);
    if (operation.stream_ != nullptr && entry->opcode == IORING_OP_RECV) {
        entry->flags = IOSQE_BUFFER_SELECT;
    }
    entry->user_data = user_data(tag::operation, &operation).word;
    operation.submitted_ = true;
    operation.set_aside_ = false;
    operation.cancel_tries_ = 0;
    operation.state_ = operation_base::state::in_flight;
    operation.unlink();
    operation.insert_before(in_flight_);
    return true;
}

bool submissions::try_submit_cancel(operation_base& operation) noexcept {
    io_uring_sqe* const entry = ring_.new_entry();
    if (entry == nullptr) {
        return false;
    }
    entry->opcode = IORING_OP_ASYNC_CANCEL;
    entry->fd = -1;
    entry->addr = user_data(tag::operation, &operation).word;
    entry->user_data = user_data(tag::cancellation, &operation).word;
    operation.cancel_asked_ = true;
    operation.cancel_tries_ = std::min<std::uint8_t>(operation.cancel_tries_ + 1, cancel_tries);
    return true;
}

/// One answer at a time is awaited, whoever asks.
void submissions::cancel(operation_base& operation) noexcept {
    if (!operation.cancel_asked_) {
        operation.unlink();
        operation.insert_before(cancels_);
        flush_cancels();
    }
}

void submissions::flush_cancels(unsigned most) noexcept {
    for (; !cancels_.alone() && most != 0; --most) {
        auto& operation = static_cast<operation_base&>(*cancels_.following);
        if (!try_submit_cancel(operation)) {
            return;
        }
        operation.unlink();
        operation.insert_before(in_flight_);
    }
}

void submissions::flush() noexcept {
    flush_cancels();
    while (!queued_.alone() && try_submit(static_cast<operation_base&>(*queued_.following))) {
    }
}

bool submissions::uses_buffer(int entry) const noexcept {
    for (const list_links* const list : {&queued_, &cancels_, &in_flight_}) {
        for (const list_links* link = list->following; link != list; link = link->following) {
            const request& what = static_cast<const operation_base*>(link)->request_;
            const bool fixed = what.code == opcode::read_fixed || what.code == opcode::write_fixed;
            if (fixed && what.buffer == entry) {
                return true;
            }
        }
    }
    return false;
}

} // namespace tryst::uring::detail
