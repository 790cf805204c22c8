// SPDX-License-Identifier: MIT
#include "reactor.hpp"

#include "failure.hpp"
#include "opcodes.hpp"
#include "trace.hpp"
#include "user_data.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <system_error>
#include <utility>

namespace tryst::uring::detail {

thread_local reactor* running_reactor = nullptr;

namespace {

/// A deadline of `wait`: submits and looks, and does not sleep.
constexpr context::time_point at_once{};

/// Whether an operation was interrupted. Some of those that the kernel leaves to its own threads say so by what
/// a system call would be started again for (ERESTARTSYS and its like), which user space should never see.
bool is_interruption(int result) noexcept {
    return result == -EINTR || (result <= -512 && result >= -516);
}

/// How often to ask for an operation's cancellation, at least. The kernel does not find what it is about to pass
/// on, from a poll to one of its threads, say: this takes task work, which each look at the completions runs,
/// a step at a time. (A connect to a busy local socket takes 128.) Nor does it find what a device is at, which
/// ends by itself.
constexpr std::uint8_t cancel_tries = 8;

/// How many cancellations are submitted at once when `run` ends. The kernel removes cancelled
/// operations in task work, of which one system call runs 20 items. Until then they lengthen the
/// search for the next operation.
constexpr unsigned cancel_batch = 16;

} // namespace

// ---- An operation's own part.

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

// ---- Set-up and end.

reactor::reactor(context& loop, tryst::detail::serial_queue& ready,
                 tryst::detail::timer_heap& timers, const context_options& options)
    : loop_(loop), ready_(ready), timers_(timers),
      max_workers_{options.max_bounded_workers, options.max_unbounded_workers},
      ring_(options.entries), buffers_(ring_), wakeup_(ring_) {}

reactor::~reactor() {
    assert(in_flight_.alone() && cancels_.alone() && starts_.alone() &&
           "tryst: an operation outlives its context");
}

void reactor::claim_thread() {
    ring_.expect_parent();
    switch (owner_.try_claim()) {
    case owner_thread::claim::first:
        try {
            ring_.enable(max_workers_);
        } catch (...) {
            owner_.release();
            throw;
        }
        break;
    case owner_thread::claim::repeated:
        break;
    case owner_thread::claim::refused:
        throw failure(EEXIST, "io_uring_enter: a context keeps to the thread that first ran it");
    }
}

void reactor::quiesce() noexcept {
    ring_.expect_parent();
    take_back();
    if (wakeup_.is_owed()) {
        TRYST_TRACE(step::owed_quiesce);
    }
    while (!in_flight_.alone() || !cancels_.alone() || wakeup_.is_owed()) {
        flush_cancels(cancel_batch);
        if (wakeup_.watch() && cancels_.alone()) {
            wait(nullptr);
        } else {
            submit_and_drain();
        }
    }
    // A message to another context is refused at once, or not at all. If nobody looked any more, that
    // context would not be woken.
    do {
        ring_.submit_and_run_tasks();
        complete_all();
    } while (ring_.has_unsubmitted());
}

/* The order of cancellations
 *   1. The kernel finds an operation to cancel by a search from one end of a list. If it is at the
 *      other end each time, the searches take time quadratic in the number of operations.
 *   2. Operations that wait for a file are in the ring's hash table of polls. It has at most 256
 *      lists, each with the newest operation first. So the newest is cancelled first.
 *   3. Operations that wait for a worker are in the workers' queue, which begins with the oldest.
 *      So the oldest is cancelled first. Every search goes through this queue before the hash
 *      table, so the queue is emptied before the table.
 *   4. When the context runs again, operations start in their old order: see `settle`. */
void reactor::take_back() noexcept {
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

/// Submits, and has the kernel do all the task work that there is: each call does only a part of
/// it.
void reactor::submit_and_drain() noexcept {
    ring_.submit_and_run_tasks();
    while (ring_.has_completions() && ring_.has_task_work()) {
        complete_all();
        ring_.run_tasks();
    }
    complete_all();
}

// ---- The life of an operation.

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
        wait_on(*operation.stream_, operation);
        break;
    default:
        enqueue(operation);
    }
}

/// Hands it to the kernel, in its turn.
void reactor::enqueue(operation_base& operation) noexcept {
    if (!starts_.alone() || !submit_start(operation)) {
        operation.insert_before(starts_);
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
            ask_to_cancel(operation);
        }
    } else {
        operation.unlink();
        finish(operation, -ECANCELED);
    }
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

void reactor::resume(executor_node* node) noexcept {
    std::exchange(static_cast<operation_base*>(node)->coroutine_, nullptr).resume();
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
            flush_cancels();
            wait(cancels_.alone() ? nullptr : &at_once);
        }
    }
    if (operation.state_ != state::over) { // it never had a result
        operation.unlink();
        operation.state_ = state::over;
        operation.result_ = -ECANCELED;
    }
}

// ---- Streams.

void reactor::wait_on(stream_base& stream, operation_base& next) noexcept {
    assert(stream.waiting_ == nullptr && "tryst: one waits for a stream at a time");
    if (!stream.untaken_.empty()) {
        const auto first = stream.untaken_.pop();
        finish(next, first.result, first.flags);
        return;
    }
    stream.waiting_ = &next;
    const auto source = stream.source_.state_;
    stream.started_for_waiter_ = source != state::waiting && source != state::in_flight;
    if (stream.started_for_waiter_) {
        start_source(stream);
    }
}

void reactor::start_source(stream_base& stream) noexcept {
    operation_base& source = stream.source_;
    source.state_ = state::waiting;
    source.cancelled_ = false;
    source.insert_before(starts_);
    flush_backlogs();
}

void reactor::complete(stream_base& stream, int result, std::uint32_t flags) noexcept {
    operation_base& source = stream.source_;
    const bool goes_on = (flags & IORING_CQE_F_MORE) != 0;
    if (!goes_on) {
        source.unlink();
        source.state_ = state::over;
        const opcode code = source.request_.code;
        const bool multishot = code == opcode::accept_multishot || code == opcode::recv_multishot;
        if (result == -EINVAL && multishot) { // the kernel does not know it
            source.request_.code = code == opcode::accept_multishot ? opcode::accept : opcode::recv;
            result = -EINTR;
        }
        // It ended because we asked for it, or because there was no buffer, of which nobody is told who
        // had not asked yet: there may be one by now.
        if (result == -ECANCELED || is_interruption(result) ||
            (result == -ENOBUFS && !stream.started_for_waiter_)) {
            if (stream.waiting_ != nullptr) {
                stream.started_for_waiter_ = true;
                source.state_ = state::waiting;
                source.cancelled_ = false;
                source.insert_before(starts_);
            }
            return;
        }
    }
    if (stream.waiting_ != nullptr) {
        finish(*stream.waiting_, result, flags);
        return;
    }
    if (!stream.untaken_.push({result, flags})) {
        stream.drop_(stream, {result, flags});
    }
    if (goes_on && stream.untaken_.size() >= stream.room_ &&
        !std::exchange(source.cancelled_, true)) {
        ask_to_cancel(source);
    }
}

// ---- Submissions.

bool reactor::submit_start(operation_base& operation) noexcept {
    io_uring_sqe* const entry = ring_.new_entry();
    if (entry == nullptr) {
        return false;
    }
    fill(*entry, operation);
    operation.submitted_ = true;
    operation.set_aside_ = false;
    operation.cancel_tries_ = 0;
    operation.state_ = state::in_flight;
    operation.unlink();
    operation.insert_before(in_flight_);
    return true;
}

void reactor::fill(io_uring_sqe& entry, operation_base& operation) const noexcept {
    const request& what = operation.request_;
    entry.opcode = static_cast<std::uint8_t>(traits_of(what.code).kernels);
    entry.fd = what.descriptor;
    entry.len = what.length;
    entry.addr = what.address;
    entry.off = what.offset;
    entry.rw_flags = static_cast<int>(what.flags); // of a union of the flags of all operations
    entry.buf_index = what.buffer;
    entry.user_data = user_data(tag::operation, &operation).word;
    if (what.code == opcode::splice) { // needs one argument more
        entry.splice_fd_in = static_cast<int>(what.flags);
        entry.splice_flags = what.buffer;
        entry.buf_index = 0;
    } else if (what.code == opcode::accept_multishot) {
        entry.ioprio = IORING_ACCEPT_MULTISHOT;
    } else if (what.code == opcode::recv_multishot) {
        entry.ioprio = IORING_RECV_MULTISHOT;
        entry.len = 0; // whatever a buffer holds
    }
    if (operation.stream_ != nullptr && entry.opcode == IORING_OP_RECV) {
        entry.flags = IOSQE_BUFFER_SELECT;
    }
}

bool reactor::submit_cancel(operation_base& operation) noexcept {
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
void reactor::ask_to_cancel(operation_base& operation) noexcept {
    if (!operation.cancel_asked_) {
        operation.unlink();
        operation.insert_before(cancels_);
        flush_cancels();
    }
}

void reactor::flush_cancels(unsigned most) noexcept {
    for (; !cancels_.alone() && most != 0; --most) {
        auto& operation = static_cast<operation_base&>(*cancels_.following);
        if (!submit_cancel(operation)) {
            return;
        }
        operation.unlink();
        operation.insert_before(in_flight_);
    }
}

void reactor::flush_backlogs() noexcept {
    flush_cancels();
    while (!starts_.alone() && submit_start(static_cast<operation_base&>(*starts_.following))) {
    }
}

// ---- Sleep, and calls.

void reactor::deliver(executor_node* node) noexcept {
    ring_.expect_parent(); // a child would wake its parent, but deliver nothing to it
    if (const auto sleeper = wakeup_.post(node)) {
        wake(*sleeper);
    }
}

void reactor::wake(const wakeup::sleeper& other) noexcept {
    reactor* const here = running_reactor;
    if (here != nullptr && !here->is_in_child() && here->wakeup_.send_message(other)) {
        here->complete_all(); // the message may have been refused
    } else {
        TRYST_TRACE(step::wake_by_eventfd);
        wakeup::write_eventfd(other.eventfd);
    }
}

void reactor::sleep(const context::time_point* deadline) noexcept {
    // The last completions may have put something there. If it stays, the kernel is short of memory, and the
    // loop tries again.
    flush_backlogs();
    if (!wakeup_.watch() || !starts_.alone() || !cancels_.alone()) {
        return;
    }
    if (wakeup_.prepare_sleep()) {
        wait(deadline);
        wakeup_.finish_sleep();
    }
}

bool reactor::has_events() const noexcept {
    return wakeup_.has_mail() || ring_.has_completions() ||
           (!asked_in_vain_ && ring_.has_task_work());
}

void reactor::fetch_events() noexcept {
    ring_.expect_parent();
    flush_backlogs();
    asked_in_vain_ = false;
    if (ring_.has_unsubmitted()) {
        ring_.submit_and_run_tasks();
    } else if (ring_.has_task_work()) {
        ring_.run_tasks();
        // The kernel says that it has work after it has queued it, by when we may have had it done: then it
        // says so until there is more. A loop that believed it would not go to sleep.
        asked_in_vain_ = !ring_.has_completions() && ring_.has_task_work();
    }
    complete_all();
}

void reactor::wait(const context::time_point* deadline) noexcept {
    ring_.wait(deadline);
    complete_all();
}

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
        complete(*operation.stream_, result, flags);
    } else {
        settle(operation, result, flags);
    }
}

void reactor::complete_cancellation(operation_base& operation, int result) noexcept {
    operation.cancel_asked_ = false;
    if (operation.completed_) {
        operation.completed_ = false;
        complete(operation, operation.result_, operation.flags_);
    } else if (result == -ENOENT &&
               (operation.cancel_tries_ < cancel_tries || ring_.has_task_work())) {
        operation.unlink();
        operation.insert_before(cancels_);
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
            // Restores the order of the first starts: operations end in the order of `take_back`.
            const bool is_oldest = set_aside && !waits_for_worker(operation.request_.code);
            operation.insert_before(is_oldest ? *starts_.following : starts_);
            return;
        }
        operation.cancelled_ = set_aside;
    }
    finish(operation, result, flags);
}

result<void> reactor::register_buffers(const buffer_pool& pool) noexcept {
    return result<void>("register_buffers", {buffers_.add(pool), std::system_category()});
}

result<void> reactor::unregister_buffers(const buffer_pool& pool) noexcept {
    const int entry = buffers_.find(&pool);
    const int error = entry < 0 ? ENOENT : is_in_use(entry) ? EBUSY : buffers_.remove(entry);
    return result<void>("unregister_buffers", {error, std::system_category()});
}

/// Whether an operation that has been awaited and is not over uses this registration.
bool reactor::is_in_use(int registration) const noexcept {
    for (const list_links* const list : {&starts_, &cancels_, &in_flight_}) {
        for (const list_links* link = list->following; link != list; link = link->following) {
            const request& what = static_cast<const operation_base*>(link)->request_;
            const bool fixed = what.code == opcode::read_fixed || what.code == opcode::write_fixed;
            if (fixed && what.buffer == registration) {
                return true;
            }
        }
    }
    return false;
}

} // namespace tryst::uring::detail
