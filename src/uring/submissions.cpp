// SPDX-License-Identifier: MIT
#include "submissions.hpp"

#include "opcodes.hpp"
#include "trace.hpp"

#include <algorithm>

namespace tryst::uring::detail {

namespace {

using state = operation_state;

/// The minimum number of times that the kernel is asked to cancel an operation that it does not
/// find. It does not find an operation that it is moving, for instance from a poll to a worker. The
/// move is task work, and each drain of the completions runs one step of it. (A connect to a busy
/// local socket takes 128 steps.) Nor does it find an operation that a device executes, which ends
/// by itself.
constexpr std::uint8_t cancel_tries = 8;

// `context::fsync` passes its `data_only` as the flags.
static_assert(IORING_FSYNC_DATASYNC == true);

/// Writes the arguments of a request to an entry.
void fill(io_uring_sqe& entry, const request& what) noexcept {
    entry.fd = what.descriptor;
    entry.len = what.length;
    entry.addr = what.address;
    entry.off = what.offset;
    entry.rw_flags = static_cast<int>(what.flags); // a member of the union of all flags
    entry.buf_index = what.buffer;
    if (what.code == opcode::splice) { // has one more argument than a request has members
        entry.splice_fd_in = static_cast<int>(what.flags);
        entry.splice_flags = what.buffer;
        entry.buf_index = 0;
    } else if (what.code == opcode::accept_multishot) {
        entry.ioprio = IORING_ACCEPT_MULTISHOT;
    } else if (what.code == opcode::recv_multishot) {
        entry.ioprio = IORING_RECV_MULTISHOT;
        entry.len = 0; // as much as a buffer holds
    }
}

} // namespace

// ---- Into the kernel.

void submissions::submit(operation_base& operation) noexcept {
    if (!queued_.alone() || !try_submit(operation)) {
        queue(operation);
    }
}

void submissions::queue(operation_base& operation) noexcept {
    queue_before(queued_, operation);
}

void submissions::queue_before(list_links& place, operation_base& operation) noexcept {
    operation.enter(state::queued);
    operation.reason_ = end_reason::none;
    operation.move_before(place);
}

void submissions::restart(operation_base& operation) noexcept {
    // `cancel_all` cancels these newest first, so this one is older than those restarted before it.
    const bool is_older =
        operation.reason_ == end_reason::leaving && !waits_for_worker(operation.request_.code);
    queue_before(is_older ? *queued_.following : queued_, operation);
}

bool submissions::try_submit(operation_base& operation) noexcept {
    io_uring_sqe* const entry =
        ring_.new_entry(traits_of(operation.request_.code).kernels, {tag::operation, &operation});
    if (entry == nullptr) {
        return false;
    }
    fill(*entry, operation.request_);
    if (operation.stream_ != nullptr && entry->opcode == IORING_OP_RECV) {
        entry->flags = IOSQE_BUFFER_SELECT;
    }
    if (operation.request_.code == opcode::close) {
        operation.request_.descriptor = -1; // now the kernel closes it, whatever the result is
    }
    operation.enter(state::in_flight);
    operation.cancel_tries_ = 0;
    operation.move_before(in_flight_);
    return true;
}

void submissions::flush_backlog() noexcept {
    flush_cancels();
    while (!queued_.alone() && try_submit(static_cast<operation_base&>(*queued_.following))) {
    }
}

// ---- Out of the kernel.

void submissions::cancel(operation_base& operation) noexcept {
    if (operation.state_ == state::in_flight) {
        operation.enter(state::cancel_queued);
        operation.move_before(cancels_);
        flush_cancels();
    }
}

void submissions::retry_cancel(operation_base& operation) noexcept {
    if (operation.cancel_tries_ < cancel_tries || ring_.has_task_work()) {
        operation.enter(state::cancel_queued);
        operation.move_before(cancels_);
    }
}

void submissions::cancel_all() noexcept {
    for (list_links* link = in_flight_.previous; link != &in_flight_;) { // the newest first
        auto& operation = static_cast<operation_base&>(*link);
        link = link->previous;
        const opcode code = operation.request_.code;
        if (operation.reason_ == end_reason::none && code != opcode::close) {
            TRYST_TRACE(set_aside, &operation);
            operation.reason_ = end_reason::leaving;
            operation.enter(state::cancel_queued);
            operation.move_before(waits_for_worker(code) ? *cancels_.following : cancels_);
        }
    }
}

bool submissions::try_submit_cancel(operation_base& operation) noexcept {
    io_uring_sqe* const entry =
        ring_.new_entry(IORING_OP_ASYNC_CANCEL, {tag::cancellation, &operation});
    if (entry == nullptr) {
        return false;
    }
    entry->fd = -1;
    entry->addr = user_data(tag::operation, &operation).word;
    operation.enter(state::cancelling);
    operation.cancel_tries_ = std::min<std::uint8_t>(operation.cancel_tries_ + 1, cancel_tries);
    operation.move_before(in_flight_);
    return true;
}

void submissions::flush_cancels(unsigned most) noexcept {
    for (; !cancels_.alone() && most != 0; --most) {
        if (!try_submit_cancel(static_cast<operation_base&>(*cancels_.following))) {
            return;
        }
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
