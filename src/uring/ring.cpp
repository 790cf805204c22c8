// SPDX-License-Identifier: MIT
#include "ring.hpp"

#include "failure.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include <pthread.h>
#include <unistd.h>

namespace tryst::uring::detail {

namespace {

/// Sets up the best ring that the kernel supports. Each row of `attempts` names the Linux version
/// that it needs, and omits the feature for which the row above needs a later one.
io_uring set_up(unsigned entries) {
    constexpr unsigned basic = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
    constexpr unsigned cooperative = basic | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_TASKRUN_FLAG;
    constexpr unsigned single = cooperative | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_R_DISABLED;
    constexpr unsigned attempts[] = {
        single | IORING_SETUP_DEFER_TASKRUN, // 6.1: task work runs only on request
        single | IORING_SETUP_COOP_TASKRUN, // 6.0: the kernel knows that one thread submits
        cooperative | IORING_SETUP_COOP_TASKRUN, // 5.19: completions do not interrupt the thread
        basic | IORING_SETUP_SUBMIT_ALL, // 5.18: a bad entry does not hold up those behind it
        basic, // 5.6: more entries than the maximum are clamped to it
        0, // 5.1
    };
    int error = 0;
    for (const unsigned flags : attempts) {
        io_uring ring{};
        io_uring_params parameters{};
        parameters.flags = flags;
        // The number of operations in flight is not limited; completions that overflow take a
        // slower path.
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

} // namespace

/// Checks the kernel's answer to io_uring_enter(2) (I30).
void ring::expect_temporary(int answer) noexcept {
    switch (-answer) {
    case EINTR:
    case EAGAIN: // no memory at the moment
    case EBUSY: // completions have overflowed
    case ETIME: // the deadline of a wait has passed
        break;
    case EBADR:
        die("io_uring_enter: the kernel lost a completion because it had no memory for it");
    case EBADF:
    case ENXIO:
    case EOPNOTSUPP:
        die("io_uring_enter: the program closed the descriptor of a context's ring");
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

void ring::die_in_child() noexcept {
    die("a child process cannot use a context that its parent made before the fork; make a new one "
        "in the child");
}

ring::ring(unsigned entries) {
    static const int error = ::pthread_atfork(nullptr, nullptr, [] {
        // Relaxed: a child has one thread only while this handler runs in it.
        forks.fetch_add(1, std::memory_order_relaxed);
    });
    if (error != 0) {
        throw failure(error, "pthread_atfork");
    }
    forks_ = forks_so_far();
    ring_ = set_up(entries);
    // A child must not share the ring's memory. If this fails, `expect_parent` still protects it.
    io_uring_ring_dontfork(&ring_);
}

ring::~ring() {
    if (is_in_child()) {
        ::close(ring_.ring_fd); // the child inherited the descriptor, but not the memory
    } else {
        io_uring_queue_exit(&ring_);
    }
}

void ring::enable(std::array<unsigned, 2> max_workers) {
    if (max_workers != std::array{0U, 0U}) {
        const int error = -io_uring_register_iowq_max_workers(&ring_, max_workers.data());
        if (error != 0) {
            throw uring_failure(error, "io_uring_register_iowq_max_workers");
        }
    }
    if ((ring_.flags & IORING_SETUP_R_DISABLED) != 0) {
        // Some versions of liburing declare io_uring_enable_rings, but do not export it.
        const int error = -io_uring_register(static_cast<unsigned>(ring_.ring_fd),
                                             IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
        if (error != 0) {
            throw uring_failure(error, "io_uring_register");
        }
    }
}

void ring::revoke(io_uring_sqe& entry) noexcept {
    std::memset(&entry, 0, sizeof(entry));
    entry.flags = quiet_flag();
    entry.user_data = user_data(tag::ignored).word;
}

void ring::submit() noexcept {
    expect_temporary(io_uring_submit(&ring_));
}

void ring::submit_and_run_tasks() noexcept {
    expect_temporary(io_uring_submit_and_get_events(&ring_));
}

void ring::run_tasks() noexcept {
    expect_temporary(io_uring_get_events(&ring_));
}

void ring::wait(const time_point* deadline) noexcept {
    using namespace std::chrono;
    __kernel_timespec left{};
    if (deadline != nullptr) {
        const auto patience = tryst::detail::until(tryst::detail::clock::now(), *deadline);
        left.tv_sec = duration_cast<seconds>(patience).count();
        left.tv_nsec = nanoseconds(patience % seconds(1)).count();
    }
    // A wait that ends at once does not run task work.
    if (has_task_work()) {
        run_tasks();
    }
    io_uring_cqe* first = nullptr;
    expect_temporary(io_uring_submit_and_wait_timeout(
        &ring_, &first, 1, deadline == nullptr ? nullptr : &left, nullptr));
}

bool ring::knows(unsigned kernel_opcode) noexcept {
    constexpr unsigned opcodes = 256; // as many as an entry can name
    alignas(io_uring_probe)
        std::array<std::byte, sizeof(io_uring_probe) + opcodes * sizeof(io_uring_probe_op)>
            room{};
    auto* const probe = reinterpret_cast<io_uring_probe*>(room.data());
    const int error = io_uring_register(static_cast<unsigned>(ring_.ring_fd), IORING_REGISTER_PROBE,
                                        probe, opcodes);
    return error != 0 || (probe->ops[kernel_opcode].flags & IO_URING_OP_SUPPORTED) != 0;
}

} // namespace tryst::uring::detail
