// SPDX-License-Identifier: MIT
#include <tryst/uring/detail/stream.hpp>

#include "opcodes.hpp"
#include "reactor.hpp"

#include <cerrno>

namespace tryst::uring::detail {

void stream_base::wait(operation_base& next) noexcept {
    assert(waiting_ == nullptr && "tryst: one waits for a stream at a time");
    if (!untaken_.empty()) {
        const auto first = untaken_.pop();
        reactor_->finish(next, first.result, first.flags);
        return;
    }
    waiting_ = &next;
    const auto now = source_.state_;
    started_for_waiter_ =
        now != operation_base::state::waiting && now != operation_base::state::in_flight;
    if (started_for_waiter_) {
        start_source();
    }
}

void stream_base::start_source() noexcept {
    source_.state_ = operation_base::state::waiting;
    source_.cancelled_ = false;
    reactor_->submissions().queue(source_);
    reactor_->submissions().flush();
}

void stream_base::complete(int result, std::uint32_t flags) noexcept {
    const bool goes_on = (flags & IORING_CQE_F_MORE) != 0;
    if (!goes_on) {
        source_.unlink();
        source_.state_ = operation_base::state::over;
        const opcode code = source_.request_.code;
        const bool multishot = code == opcode::accept_multishot || code == opcode::recv_multishot;
        if (result == -EINVAL && multishot) { // the kernel does not know it
            source_.request_.code =
                code == opcode::accept_multishot ? opcode::accept : opcode::recv;
            result = -EINTR;
        }
        // It ended because we asked for it, or because there was no buffer, of which nobody is told who
        // had not asked yet: there may be one by now.
        if (result == -ECANCELED || is_interruption(result) ||
            (result == -ENOBUFS && !started_for_waiter_)) {
            if (waiting_ != nullptr) {
                started_for_waiter_ = true;
                source_.state_ = operation_base::state::waiting;
                source_.cancelled_ = false;
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
    if (goes_on && untaken_.size() >= room_ && !std::exchange(source_.cancelled_, true)) {
        reactor_->submissions().cancel(source_);
    }
}

} // namespace tryst::uring::detail
