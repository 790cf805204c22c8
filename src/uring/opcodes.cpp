// SPDX-License-Identifier: MIT
#include "opcodes.hpp"

namespace tryst::uring::detail {

static_assert(IORING_FSYNC_DATASYNC ==
              true); // `context::fsync` passes its `data_only` as the flags

void fill(io_uring_sqe& entry, const request& what) noexcept {
    entry.opcode = static_cast<std::uint8_t>(traits_of(what.code).kernels);
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

} // namespace tryst::uring::detail
