// SPDX-License-Identifier: MIT
#include "reactor.hpp"

#include "failure.hpp"
#include "opcodes.hpp"
#include "trace.hpp"

#include <tryst/detail/platform/atomic.hpp>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace tryst::uring::detail {

thread_local reactor* running_reactor = nullptr;

namespace {

/// A deadline of `wait`: submits and looks, and does not sleep.
constexpr context::time_point at_once{};

/// What a completion is about: an operation, whose address it bears, or something else.
enum about : std::uint8_t {
    operation_end, ///< Of no operation: of no interest.
    cancellation, ///< Of the operation.
    eventfd_ready,
    call, ///< From another context.
    own_call, ///< To one, whose eventfd is in the bits above.
};
constexpr unsigned about_bits = 3;
constexpr std::uint64_t about_mask = (1u << about_bits) - 1;
static_assert(alignof(operation_base) > about_mask);

std::uint64_t to_word(const operation_base& operation) noexcept {
    return reinterpret_cast<std::uintptr_t>(&operation);
}

[[noreturn]] void die(const char* why, const char* which = "", const char* more = "") noexcept {
    std::fprintf(stderr, "tryst: %s%s%s\n", why, which, more);
    std::abort();
}

/// Names the calling thread, for good: the names of the standard library pass on to later threads.
std::uint64_t this_thread() noexcept {
    static tryst::detail::atomic<std::uint64_t> named{0};
    // Relaxed: all that matters is that no two are the same.
    thread_local const std::uint64_t name = named.fetch_add(1, std::memory_order_relaxed) + 1;
    return name;
}

/// The best ring that the kernel has. Each row does without what Linux had last, in the version beside it.
io_uring set_up(unsigned entries) {
    constexpr unsigned basic = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
    constexpr unsigned cooperative = basic | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_TASKRUN_FLAG;
    constexpr unsigned lone = cooperative | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_R_DISABLED;
    constexpr unsigned attempts[] = {
        lone | IORING_SETUP_DEFER_TASKRUN, // 6.1: completions only when asked for
        lone | IORING_SETUP_COOP_TASKRUN, // 6.0: the kernel knows that one thread submits
        cooperative | IORING_SETUP_COOP_TASKRUN, // 5.19: completions do not interrupt
        basic | IORING_SETUP_SUBMIT_ALL, // 5.18: a bad operation does not hold up those behind it
        basic, // 5.6: as many entries as there may be
        0, // 5.1
    };
    int error = 0;
    for (const unsigned flags : attempts) {
        io_uring ring{};
        io_uring_params parameters{};
        parameters.flags = flags;
        // Operations in flight are not limited by the entries; what overflows takes a slower path.
        parameters.cq_entries = std::min(entries, 8192u) * 8;
        error = -io_uring_queue_init_params(entries, &ring, &parameters);
        if (error == 0) {
            return ring;
        }
        if (error != EINVAL) {
            break;
        }
    }
    throw uring_failure(error, "io_uring_setup");
}

/// Whether an operation was interrupted. Some of those that the kernel leaves to its own threads say so by what
/// a system call would be started again for (ERESTARTSYS and its like), which user space should never see.
bool is_interruption(int result) noexcept {
    return result == -EINTR || (result <= -512 && result >= -516);
}

/// The number of forks between the process that made the first context and this one. Relaxed everywhere: a child
/// changes it while it has one thread only.
tryst::detail::atomic<unsigned> forks{0};

unsigned count_forks() {
    static const int error =
        ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
    if (error != 0) {
        throw failure(error, "pthread_atfork");
    }
    return forks.load(std::memory_order_relaxed);
}

[[noreturn]] void die_in_child() noexcept {
    die("a context was used by a child process, after a fork; make another one there");
}

/// Checks the kernel's answer to io_uring_enter. After a temporary error the loop tries again.
/// After any other error no completion would ever arrive, so the program ends.
void expect_passing(int answer) noexcept {
    switch (-answer) {
    case EINTR:
    case EAGAIN: // no memory for now
    case EBUSY: // completions have overflowed
    case ETIME: // the wait's deadline has passed
        break;
    case EBADR:
        die("the kernel had no memory for a completion, and has lost it");
    case EBADF:
    case ENXIO:
    case EOPNOTSUPP:
        die("somebody else has closed the ring of a context");
    case EEXIST:
        die_in_child();
    default:
        if (answer < 0) {
            die("io_uring_enter: ", std::strerror(-answer),
                "; a context cannot go on without this call (was a seccomp filter installed after "
                "the context was made?)");
        }
    }
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

void write_call(int eventfd) noexcept {
    if (::eventfd_write(eventfd, 1) != 0) {
        TRYST_TRACE(step::call_in_vain);
    }
}

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
    : loop_(loop), ready_(ready), timers_(timers), forks_(count_forks()),
      max_workers_{options.max_bounded_workers, options.max_unbounded_workers},
      ring_(set_up(options.entries)), eventfd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      quiet_((ring_.features & IORING_FEAT_CQE_SKIP) != 0 ? IOSQE_CQE_SKIP_SUCCESS : 0) {
    if (!eventfd_) {
        const int error = errno;
        io_uring_queue_exit(&ring_);
        throw failure(error, "eventfd");
    }
    // A child process would share the ring's memory. If this fails, `expect_no_fork` still protects it.
    io_uring_ring_dontfork(&ring_);
}

reactor::~reactor() {
    assert(in_flight_.alone() && cancels_.alone() && starts_.alone() &&
           "tryst: an operation outlives its context");
    if (is_in_child()) { // which has the ring's descriptor, but not its memory
        ::close(ring_.ring_fd);
        return;
    }
    if (has_table_) {
        // At the ring's end the kernel would do so too, but later. Another thread's attempt fails.
        io_uring_unregister_buffers(&ring_);
    }
    // The poll of the eventfd may still be armed; it refers to no memory of ours.
    io_uring_queue_exit(&ring_);
}

bool reactor::is_in_child() const noexcept {
    return forks_ != forks.load(std::memory_order_relaxed);
}

void reactor::expect_no_fork() const noexcept {
    if (is_in_child()) {
        die_in_child();
    }
}

void reactor::claim_thread() {
    expect_no_fork();
    const std::uint64_t here = this_thread();
    std::uint64_t owner = 0;
    // Relaxed, both: only the number matters, and what the thread finds here came to it with the context.
    if (owner_.compare_exchange_strong(owner, here, std::memory_order_relaxed,
                                       std::memory_order_relaxed)) {
        try {
            limit_workers();
            enable();
        } catch (...) {
            owner_.store(0, std::memory_order_relaxed); // as above
            throw;
        }
    } else if (owner != here) {
        throw failure(EEXIST, "io_uring_enter: a context keeps to the thread that first ran it");
    }
}

void reactor::enable() {
    if ((ring_.flags & IORING_SETUP_R_DISABLED) == 0) {
        return;
    }
    // io_uring_enable_rings, which some liburings declare but do not export.
    const int error = -io_uring_register(static_cast<unsigned>(ring_.ring_fd),
                                         IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
    if (error != 0) {
        throw uring_failure(error, "io_uring_register");
    }
}

/// Call it on the thread that will submit: the kernel has workers for each thread, not each ring.
void reactor::limit_workers() {
    auto limits = max_workers_;
    if (limits == std::array{0U, 0U}) {
        return;
    }
    const int error = -io_uring_register_iowq_max_workers(&ring_, limits.data());
    if (error != 0) {
        throw uring_failure(error, "io_uring_register_iowq_max_workers");
    }
}

void reactor::come_to_rest() noexcept {
    expect_no_fork();
    take_back();
    if (call_owed_) {
        TRYST_TRACE(step::owed_rest);
    }
    while (!in_flight_.alone() || !cancels_.alone() || call_owed_) {
        flush_cancels(cancel_batch);
        watch_eventfd();
        if (cancels_.alone() && watching_) {
            wait(nullptr);
        } else {
            submit_and_drain();
        }
    }
    // A message to another context is refused at once, or not at all. If nobody looked any more, that
    // context would not be called.
    do {
        expect_passing(io_uring_submit_and_get_events(&ring_));
        reap();
    } while (io_uring_sq_ready(&ring_) != 0);
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
    expect_passing(io_uring_submit_and_get_events(&ring_));
    while (io_uring_cq_ready(&ring_) != 0 && kernel_has_work()) {
        reap();
        expect_passing(io_uring_get_events(&ring_));
    }
    reap();
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
        // Relaxed: it has not changed since the operation started.
        if (owner_.load(std::memory_order_relaxed) != this_thread()) {
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

io_uring_sqe* reactor::new_entry() noexcept {
    expect_no_fork();
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) {
        expect_passing(io_uring_submit(&ring_)); // may fail for now; then there is none
        entry = io_uring_get_sqe(&ring_);
    }
    if (entry != nullptr) {
        std::memset(entry, 0, sizeof(*entry));
    }
    return entry;
}

bool reactor::submit_start(operation_base& operation) noexcept {
    io_uring_sqe* const entry = new_entry();
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
    entry.user_data = to_word(operation);
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
    io_uring_sqe* const entry = new_entry();
    if (entry == nullptr) {
        return false;
    }
    entry->opcode = IORING_OP_ASYNC_CANCEL;
    entry->fd = -1;
    entry->addr = to_word(operation);
    entry->user_data = to_word(operation) | cancellation;
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
    expect_no_fork(); // a child would wake its parent, but deliver nothing to it
    // Before the post: after it, the context may be gone unless it waits for our call.
    const int ring = ring_.ring_fd;
    const int eventfd = eventfd_.get();
    if (!inbox_.post(node)) {
        return;
    }
    TRYST_TRACE(step::call_due);
    const bool may_submit = running_reactor != nullptr && !running_reactor->is_in_child();
    if (!may_submit || !running_reactor->submit_call(ring, eventfd)) {
        TRYST_TRACE(step::call_by_eventfd);
        write_call(eventfd);
    }
}

bool reactor::submit_call(int ring, int eventfd) noexcept {
    io_uring_sqe* const entry = can_message_ ? new_entry() : nullptr;
    if (entry == nullptr) {
        return false;
    }
    TRYST_TRACE(step::call_by_message);
    entry->opcode = IORING_OP_MSG_RING;
    entry->fd = ring;
    entry->off = call;
    entry->flags = quiet_;
    entry->user_data = own_call | static_cast<std::uint64_t>(eventfd) << about_bits;
    // At once: this thread may be about to wait for what the other does.
    expect_passing(io_uring_submit(&ring_));
    if (io_uring_sq_ready(&ring_) != 0) { // the kernel has taken none, or not all
        std::memset(entry, 0, sizeof(*entry));
        entry->flags = quiet_;
        entry->user_data = operation_end;
        return false;
    }
    reap(); // it may have failed
    return true;
}

void reactor::watch_eventfd() noexcept {
    io_uring_sqe* const entry = watching_ ? nullptr : new_entry();
    if (entry != nullptr) {
        entry->opcode = IORING_OP_POLL_ADD;
        entry->fd = eventfd_.get();
        entry->poll32_events = POLLIN;
        entry->user_data = eventfd_ready;
        watching_ = true;
    }
}

void reactor::called() noexcept {
    if (!dozing_ && !call_owed_) {
        TRYST_TRACE(step::undue_call);
    }
    (dozing_ ? dozing_ : call_owed_) = false;
}

void reactor::sleep(const context::time_point* deadline) noexcept {
    // The last completions may have put something there. If it stays, the kernel is short of memory, and the
    // loop tries again.
    flush_backlogs();
    watch_eventfd();
    if (!starts_.alone() || !cancels_.alone() || !watching_) {
        return;
    }
    if (call_owed_) {
        if (inbox_.has_mail()) {
            return;
        }
        TRYST_TRACE(step::owed_sleep);
    } else {
        if (!inbox_.prepare_wait()) {
            return;
        }
        dozing_ = true;
    }
    wait(deadline);
    if (std::exchange(dozing_, false)) {
        TRYST_TRACE(step::own_wake);
        call_owed_ = !inbox_.cancel_wait();
        if (call_owed_) {
            TRYST_TRACE(step::owed_call);
        }
    }
}

bool reactor::kernel_has_work() const noexcept {
    return (IO_URING_READ_ONCE(*ring_.sq.kflags) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) !=
           0;
}

bool reactor::has_events() const noexcept {
    return inbox_.has_mail() || io_uring_cq_ready(&ring_) != 0 ||
           (!asked_in_vain_ && kernel_has_work());
}

void reactor::fetch_events() noexcept {
    expect_no_fork();
    flush_backlogs();
    asked_in_vain_ = false;
    if (io_uring_sq_ready(&ring_) != 0) {
        expect_passing(io_uring_submit_and_get_events(&ring_));
    } else if (kernel_has_work()) {
        expect_passing(io_uring_get_events(&ring_));
        // The kernel says that it has work after it has queued it, by when we may have had it done: then it
        // says so until there is more. A loop that believed it would not go to sleep.
        asked_in_vain_ = io_uring_cq_ready(&ring_) == 0 && kernel_has_work();
    }
    reap();
}

void reactor::wait(const context::time_point* deadline) noexcept {
    io_uring_cqe* first = nullptr;
    __kernel_timespec left{};
    if (deadline != nullptr) {
        using namespace std::chrono;
        const auto patience = std::max(*deadline - tryst::detail::clock::now(),
                                       context::time_point::duration::zero());
        left.tv_sec = duration_cast<seconds>(patience).count();
        left.tv_nsec = nanoseconds(patience % seconds(1)).count();
    }
    // A wait that ends at once leaves this undone.
    if (kernel_has_work()) {
        expect_passing(io_uring_get_events(&ring_));
    }
    expect_passing(io_uring_submit_and_wait_timeout(
        &ring_, &first, 1, deadline == nullptr ? nullptr : &left, nullptr));
    reap();
}

void reactor::reap() noexcept {
    unsigned head = 0;
    unsigned count = 0;
    const io_uring_cqe* completion = nullptr;
    io_uring_for_each_cqe(&ring_, head, completion) {
        ++count;
        complete(completion->user_data, completion->res, completion->flags);
    }
    io_uring_cq_advance(&ring_, count);
}

void reactor::complete(std::uint64_t about, int result, std::uint32_t flags) noexcept {
    auto* const operation = reinterpret_cast<operation_base*>(about & ~about_mask);
    switch (about & about_mask) {
    case operation_end:
        if (operation != nullptr) {
            complete(*operation, result, flags);
        }
        break;
    case cancellation:
        complete_cancellation(*operation, result);
        break;
    case eventfd_ready: {
        watching_ = false;
        eventfd_t calls = 0;
        if (::eventfd_read(eventfd_.get(), &calls) == 0) {
            called();
        }
        break;
    }
    case call:
        called();
        break;
    case own_call:
        if (result < 0) {
            TRYST_TRACE(step::failed_message);
            can_message_ = can_message_ && result != -EINVAL;
            write_call(static_cast<int>(about >> about_bits));
        }
        break;
    default:
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
    } else if (result == -ENOENT && (operation.cancel_tries_ < cancel_tries || kernel_has_work())) {
        operation.unlink();
        operation.insert_before(cancels_);
    }
}

void reactor::settle(operation_base& operation, int result, std::uint32_t flags) noexcept {
    operation.unlink();
    if (is_interruption(result)) {
        result = -EINTR;
    } else if (result == -EINVAL && !kernel_knows(traits_of(operation.request_.code).kernels)) {
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

/// Whether the kernel knows that kind of operation. If it does not, it fails the operation with
/// EINVAL, as it does for wrong arguments.
bool reactor::kernel_knows(unsigned kind) noexcept {
    constexpr unsigned kinds = 256; // as many as an entry can name
    alignas(io_uring_probe)
        std::array<std::byte, sizeof(io_uring_probe) + kinds * sizeof(io_uring_probe_op)>
            room{};
    auto* const probe = reinterpret_cast<io_uring_probe*>(room.data());
    const int error = io_uring_register(static_cast<unsigned>(ring_.ring_fd), IORING_REGISTER_PROBE,
                                        probe, kinds);
    return error != 0 || (probe->ops[kind].flags & IO_URING_OP_SUPPORTED) != 0;
}

} // namespace tryst::uring::detail
