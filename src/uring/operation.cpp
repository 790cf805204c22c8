// SPDX-License-Identifier: MIT
// The life of an operation, from `co_await` until it is over. For its end by a completion see completion.cpp.
#include <tryst/uring/operation.hpp>

#include "failure.hpp"
#include "opcodes.hpp"
#include "reactor.hpp"
#include "trace.hpp"

#include <utility>

namespace tryst::uring::detail {

namespace {

/// A deadline of `wait`: submits and looks, and does not sleep.
constexpr context::time_point at_once{};

} // namespace

const char* operation_base::name() const noexcept {
    return traits_of(request_.code).name;
}

void operation_base::await_suspend(std::coroutine_handle<> coroutine) noexcept {
    coroutine_ = coroutine;
    reactor_->start(*this);
}

void operation_base::abandon() noexcept {
    if (state_ == state::waiting || state_ == state::in_flight || coroutine_) {
        reactor_->abandon(*this);
    }
}

void operation_base::post_stop::operator()() const noexcept {
    operation->stop_posted_ = true;
    operation->run = reactor::stop;
    operation->reactor_->loop().post(operation);
}

void reactor::start(operation_base& operation) noexcept {
    if (!loop_.running_here()) { // its completion would not be noticed here
        die("await an operation on its own context: ", operation.name(),
            " was awaited where another executor runs, or none");
    }
    operation.state_ = state::waiting;
    if (operation.limits_.has_deadline()) {
        operation.deadline = operation.limits_.deadline();
        operation.fire = expire;
        timers_.insert(&operation);
        operation.armed_ = true;
    }
    if (operation.limits_.stop().stop_possible()) {
        operation.stop_callback_.emplace(operation.limits_.stop(),
                                         operation_base::post_stop{&operation});
    }
    switch (operation.request_.code) {
    case opcode::timeout:
        break;
    case opcode::next:
        operation.stream_->wait(operation);
        break;
    default:
        submissions_.submit(operation);
    }
}

void reactor::stop(executor_node* node) noexcept {
    auto& operation = *static_cast<operation_base*>(node);
    operation.stop_posted_ = false;
    if (operation.state_ == state::over) {
        TRYST_TRACE(step::late_stop);
        resume(node);
    } else {
        operation.reactor_->cancel(operation, false);
    }
}

void reactor::expire(timer_node* node) noexcept {
    auto& operation = *static_cast<operation_base*>(node);
    reactor& owner = *operation.reactor_;
    operation.armed_ = false;
    if (operation.request_.code == opcode::timeout) {
        owner.finish(operation, 0);
        return;
    }
    if (operation.request_.code == opcode::next) {
        // What has come by now is let through, as the kernel does with what it is asked to cancel. Twice: at
        // first it may say that it does not know multishot.
        owner.fetch_events();
        owner.fetch_events();
        if (operation.state_ == state::over) {
            return;
        }
    }
    owner.cancel(operation, true);
}

void reactor::cancel(operation_base& operation, bool expired) noexcept {
    if (std::exchange(operation.cancelled_, true)) {
        return;
    }
    operation.expired_ = expired;
    if (operation.state_ == state::in_flight) {
        if (operation.request_.code != opcode::close) { // which is not undone
            submissions_.cancel(operation);
        }
    } else {
        operation.unlink();
        finish(operation, -ECANCELED);
    }
}

void reactor::disarm(operation_base& operation) noexcept {
    if (operation.request_.code == opcode::next) {
        operation.stream_->waiting_ = nullptr;
        operation.stream_->started_for_waiter_ = false;
    }
    if (std::exchange(operation.armed_, false)) {
        timers_.remove(&operation);
    }
    operation.stop_callback_.reset(); // waits for one that is posting now
}

void reactor::abandon(operation_base& operation) noexcept {
    const bool queued = operation.coroutine_ && operation.state_ == state::over;
    operation.coroutine_ = nullptr;
    if (operation.state_ != state::over) {
        disarm(operation);
    }
    if (operation.stop_posted_) {
        TRYST_TRACE(step::retracted_stop);
    }
    if (queued || operation.stop_posted_) {
        loop_.executor().retract(&operation);
    }
    if (operation.state_ == state::in_flight && !is_in_child()) { // in a child it is the parent's
        if (!owner_.is_here()) {
            die("a frame that waits for an operation was destroyed on another thread than its "
                "context's");
        }
        cancel(operation, false);
        while (operation.state_ == state::in_flight) {
            submissions_.flush_cancels();
            wait(submissions_.has_cancels() ? &at_once : nullptr);
        }
    }
    if (operation.state_ != state::over) { // it never had a result
        operation.unlink();
        operation.state_ = state::over;
        operation.result_ = -ECANCELED;
    }
}

} // namespace tryst::uring::detail
