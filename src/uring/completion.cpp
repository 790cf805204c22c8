// SPDX-License-Identifier: MIT
// How a completion becomes a resumption.
#include "reactor.hpp"

#include "opcodes.hpp"
#include "trace.hpp"
#include "user_data.hpp"

#include <cerrno>
#include <utility>

namespace tryst::uring::detail {

void reactor::complete_all() noexcept {
    ring_.drain([this](const io_uring_cqe& completion) noexcept { complete(completion); });
}

void reactor::complete(const io_uring_cqe& completion) noexcept {
    const user_data about = completion.user_data;
    switch (about.kind()) {
    case tag::operation:
        complete(about.target<operation_base>(), completion.res, completion.flags);
        break;
    case tag::cancellation:
        complete_cancellation(about.target<operation_base>(), completion.res);
        break;
    case tag::eventfd:
        wakeup_.on_eventfd();
        break;
    case tag::wake:
        wakeup_.on_wake();
        break;
    case tag::sent_wake:
        if (completion.res < 0) {
            wakeup_.on_refused_message(-completion.res, about.number());
        }
        break;
    case tag::ignored:
        break;
    }
}

void reactor::complete(operation_base& operation, int result, std::uint32_t flags) noexcept {
    if ((flags & IORING_CQE_F_MORE) == 0 && operation.cancel_asked_) {
        operation.completed_ = true;
        operation.result_ = result;
        operation.flags_ = flags;
    } else if (operation.stream_ != nullptr) {
        operation.stream_->complete(result, flags);
    } else {
        settle(operation, result, flags);
    }
}

void reactor::complete_cancellation(operation_base& operation, int result) noexcept {
    operation.cancel_asked_ = false;
    if (operation.completed_) {
        operation.completed_ = false;
        complete(operation, operation.result_, operation.flags_);
    } else if (result == -ENOENT) {
        submissions_.retry_cancel(operation);
    }
}

void reactor::settle(operation_base& operation, int result, std::uint32_t flags) noexcept {
    operation.unlink();
    if (is_interruption(result)) {
        result = -EINTR;
    } else if (result == -EINVAL && !ring_.knows(traits_of(operation.request_.code).kernels)) {
        result = -ENOSYS;
    }
    const bool set_aside = std::exchange(operation.set_aside_, false);
    if (!operation.cancelled_ && (result == -EINTR || (result == -ECANCELED && set_aside))) {
        if (traits_of(operation.request_.code).restarts) {
            operation.state_ = state::waiting;
            submissions_.restart(operation, set_aside);
            return;
        }
        operation.cancelled_ = set_aside;
    }
    finish(operation, result, flags);
}

void reactor::finish(operation_base& operation, int result, std::uint32_t flags) noexcept {
    const bool came_to_nothing = result == -ECANCELED || result == -EINTR;
    if (operation.cancelled_ && !came_to_nothing) {
        TRYST_TRACE(step::late_cancellation);
    }
    operation.result_ = !operation.cancelled_ || !came_to_nothing ? result
                        : operation.expired_                      ? -ETIMEDOUT
                                                                  : -ECANCELED;
    operation.flags_ = flags;
    operation.state_ = state::over;
    disarm(operation);
    // A stop that came meanwhile has posted the node, which then brings the coroutine back itself.
    if (operation.coroutine_ && !operation.stop_posted_) {
        operation.run = resume;
        ready_.push(&operation);
    }
}

void reactor::resume(executor_node* node) noexcept {
    std::exchange(static_cast<operation_base*>(node)->coroutine_, nullptr).resume();
}

} // namespace tryst::uring::detail
