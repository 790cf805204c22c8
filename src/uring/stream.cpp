// SPDX-License-Identifier: MIT
#include <tryst/uring/detail/stream.hpp>

#include "opcodes.hpp"
#include "reactor.hpp"

#include <cassert>
#include <cerrno>

namespace tryst::uring::detail {

void stream_base::wait(operation_base& next) noexcept {
    assert(waiting_ == nullptr && "tryst: only one operation may wait for a stream at a time");
    if (!untaken_.empty()) {
        const auto first = untaken_.pop();
        reactor_->finish(next, first.result, first.flags);
        return;
    }
    waiting_ = &next;
    started_for_waiter_ = !is_started();
    if (started_for_waiter_) {
        reactor_->submissions().queue(source_);
        reactor_->submissions().flush();
    }
}

void stream_base::forget_waiter() noexcept {
    waiting_ = nullptr;
    started_for_waiter_ = false;
}

void stream_base::complete(int result, std::uint32_t flags) noexcept {
    const bool goes_on = (flags & IORING_CQE_F_MORE) != 0;
    if (!goes_on) {
        source_.unlink();
        source_.enter(operation_state::over);
        opcode& code = source_.request_.code;
        const bool is_multishot =
            code == opcode::accept_multishot || code == opcode::recv_multishot;
        if (result == -EINVAL && is_multishot) { // the kernel does not know multishot operations
            code = code == opcode::accept_multishot ? opcode::accept : opcode::recv;
            result = -EINTR;
        }
        // The source was cancelled, or it found no free buffer before an operation waited. By now a
        // buffer may be free.
        if (result == -ECANCELED || is_interruption(result) ||
            (result == -ENOBUFS && !started_for_waiter_)) {
            if (waiting_ != nullptr) {
                started_for_waiter_ = true;
                reactor_->submissions().queue(source_);
            }
            return;
        }
    }
    if (waiting_ != nullptr) {
        reactor_->finish(*waiting_, result, flags);
        return;
    }
    if (!untaken_.push({result, flags})) {
        drop_(*this, {result, flags});
    }
    if (goes_on && untaken_.size() >= room_ && !source_.is_cancelled()) {
        source_.reason_ = end_reason::stop;
        reactor_->submissions().cancel(source_);
    }
}

} // namespace tryst::uring::detail
