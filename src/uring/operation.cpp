// SPDX-License-Identifier: MIT
// How an operation starts, and how a stop, a deadline or the end of its coroutine cancels it.
// For its completion see completion.cpp.
#include <tryst/uring/detail/operation_base.hpp>

#include "failure.hpp"
#include "opcodes.hpp"
#include "reactor.hpp"
#include "trace.hpp"

#include <utility>

namespace tryst::uring::detail {

namespace {

/// A deadline in the past, with which `wait` does not sleep.
constexpr context::time_point at_once{};

} // namespace

const char* operation_base::name() const noexcept {
    return traits_of(request_.code).name;
}

void operation_base::begin(std::coroutine_handle<> coroutine) noexcept {
    coroutine_ = coroutine;
    reactor_->start(*this);
}

void operation_base::abandon() noexcept {
    if ((has_started() && !is_over()) || coroutine_) {
        reactor_->abandon(*this);
    }
}

void operation_base::post_stop::operator()() const noexcept {
    operation->run = reactor::stop; // I35, I38
    operation->reactor_->loop().post(operation);
}

void reactor::start(operation_base& operation) noexcept {
    if (!loop_.running_here()) { // the wrong loop would never see its completion
        die("await an operation on its own context: ", operation.name(),
            " was awaited on another executor, or on none");
    }
    if (operation.limits_.has_deadline()) {
        operation.deadline = operation.limits_.deadline();
        operation.fire = expire;
        timers_.insert(&operation);
    }
    if (operation.limits_.stop().stop_possible()) {
        operation.stop_callback_.emplace(operation.limits_.stop(),
                                         operation_base::post_stop{&operation});
    }
    switch (operation.request_.code) {
    case opcode::timeout:
        operation.enter(state::waiting);
        break;
    case opcode::next:
        operation.enter(state::waiting);
        operation.stream_->wait(operation);
        break;
    default:
        submissions_.submit(operation);
    }
}

void reactor::stop(executor_node* node) noexcept {
    auto& operation = *static_cast<operation_base*>(node);
    if (operation.is_over()) { // I38
        TRYST_TRACE(stop_after_end, &operation);
        resume(node);
    } else {
        operation.run = nullptr;
        operation.reactor_->cancel(operation, end_reason::stop);
    }
}

void reactor::expire(timer_node* node) noexcept {
    auto& operation = *static_cast<operation_base*>(node);
    reactor& owner = *operation.reactor_;
    if (operation.request_.code == opcode::timeout) {
        owner.finish(operation, 0);
        return;
    }
    if (operation.request_.code == opcode::next) {
        // A completion that has arrived wins, as it does when the kernel cancels. Fetches twice:
        // the first completion may say that the kernel does not know multishot operations.
        owner.fetch_events();
        owner.fetch_events();
        if (operation.is_over()) {
            return;
        }
    }
    owner.cancel(operation, end_reason::deadline);
}

void reactor::cancel(operation_base& operation, end_reason why) noexcept {
    if (operation.is_cancelled()) {
        return;
    }
    operation.reason_ = why;
    if (!operation.is_in_kernel()) {
        operation.unlink();
        finish(operation, -ECANCELED);
    } else if (operation.request_.code != opcode::close) { // a close cannot be undone
        submissions_.cancel(operation);
    }
}

/// Removes the operation from its stream, its timer and its stop callback. A node that a stop has
/// already posted stays in the loop's queue.
void reactor::disarm(operation_base& operation) noexcept {
    if (operation.request_.code == opcode::next) {
        operation.stream_->forget_waiter();
    }
    if (operation.limits_.has_deadline()) {
        timers_.remove(&operation);
    }
    operation.stop_callback_.reset(); // waits until a callback that runs now has posted the node
}

void reactor::abandon(operation_base& operation) noexcept {
    operation.coroutine_ = nullptr;
    if (!operation.is_over()) {
        disarm(operation);
    }
    if (operation.is_posted()) {
        if (!operation.is_over()) {
            TRYST_TRACE(retracted_stop, &operation);
        }
        loop_.executor().retract(&operation);
    }
    if (operation.is_in_kernel() && !is_in_child()) {
        if (!is_owner()) {
            die("destroy a coroutine that waits for ", operation.name(),
                " on the thread of its context; it was destroyed on another thread");
        }
        cancel(operation, end_reason::stop);
        while (operation.is_in_kernel()) { // I36
            submissions_.flush_cancels();
            wait(submissions_.has_cancels() ? &at_once : nullptr);
        }
    }
    if (!operation.is_over()) {
        // It never had a result. In a child process it may be in any state, because the kernel has
        // it for the parent.
        operation.unlink();
        operation.state_ = state::over;
        operation.result_ = -ECANCELED;
    }
}

} // namespace tryst::uring::detail
