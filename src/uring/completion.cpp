// SPDX-License-Identifier: MIT
// How a completion of the ring becomes a resumption of a coroutine:
//   complete_all --> complete --> complete_operation --> conclude --> finish --> [queue] --> resume
// The completions of a stream go from conclude to stream.cpp, and from there to finish.
#include "reactor.hpp"

#include "opcodes.hpp"
#include "trace.hpp"

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
        complete_operation(about.target<operation_base>(), completion.res, completion.flags);
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

void reactor::complete_operation(operation_base& operation, int result,
                                 std::uint32_t flags) noexcept {
    const bool is_last = (flags & IORING_CQE_F_MORE) == 0;
    if (is_last && operation.state_ == state::cancelling) { // I37
        operation.enter(state::completed);
        operation.result_ = result;
        operation.flags_ = flags;
    } else {
        conclude(operation, result, flags);
    }
}

void reactor::complete_cancellation(operation_base& operation, int answer) noexcept {
    if (operation.state_ == state::completed) {
        conclude(operation, operation.result_, operation.flags_);
        return;
    }
    operation.enter(state::in_flight);
    if (answer == -ENOENT) {
        submissions_.retry_cancel(operation);
    }
}

/// Ends the operation, or restarts it if it was interrupted, or cancelled because `run` returns.
void reactor::conclude(operation_base& operation, int result, std::uint32_t flags) noexcept {
    if (operation.stream_ != nullptr) {
        operation.stream_->complete(result, flags);
        return;
    }
    operation.unlink();
    if (is_interruption(result)) {
        result = -EINTR;
    } else if (result == -EINVAL && !ring_.knows(traits_of(operation.request_.code).kernels)) {
        result = -ENOSYS;
    }
    const bool is_unfinished =
        result == -EINTR || (result == -ECANCELED && operation.reason_ == end_reason::leaving);
    if (is_unfinished && !operation.is_cancelled() && traits_of(operation.request_.code).restarts) {
        submissions_.restart(operation);
    } else {
        finish(operation, result, flags);
    }
}

/// The operation is over: its coroutine is queued, to be resumed by the loop.
void reactor::finish(operation_base& operation, int result, std::uint32_t flags) noexcept {
    if (result == -ECANCELED || result == -EINTR) { // nothing has happened
        if (operation.reason_ != end_reason::none) {
            result = operation.reason_ == end_reason::deadline ? -ETIMEDOUT : -ECANCELED;
        }
    } else if (operation.is_cancelled()) {
        TRYST_TRACE(late_cancellation, &operation);
    }
    operation.result_ = result;
    operation.flags_ = flags;
    operation.enter(state::over);
    disarm(operation);
    if (operation.coroutine_ && !operation.is_posted()) { // else the posted stop resumes it (I38)
        operation.run = resume;
        ready_.push(&operation);
    }
}

void reactor::resume(executor_node* node) noexcept {
    node->run = nullptr;
    auto& operation = *static_cast<operation_base*>(node);
    tryst::detail::running_task::resume(std::exchange(operation.coroutine_, nullptr),
                                        operation.resumes_task_);
}

} // namespace tryst::uring::detail
