// SPDX-License-Identifier: MIT
#include "adapters/uring/kernel_faults.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <dlfcn.h>
#include <sys/eventfd.h>

// Nothing here synchronizes threads: that would hide data races of the library from
// ThreadSanitizer.

namespace {

using tryst::test::kernel_faults;

/// The state of a ring, found by the number of its descriptor. Used by the ring's thread only.
struct ring_state {
    struct end {
        std::uint64_t user_data;
        int result;
    };
    unsigned requests = 0; ///< The entries seen so far.
    unsigned completions = 0;
    std::vector<end> ends; ///< The requests that were replaced by failures.
};

ring_state& state_of(const io_uring& ring) {
    static std::array<ring_state, 8192> states;
    return states.at(static_cast<std::size_t>(ring.ring_fd));
}

template <class Function>
Function* original(const char* name) {
    void* const found = dlsym(RTLD_NEXT, name);
    if (found == nullptr) {
        std::fprintf(stderr, "no %s behind this one\n", name);
        std::abort();
    }
    return reinterpret_cast<Function*>(found);
}

kernel_faults* faults() noexcept {
    return kernel_faults::current.load(std::memory_order_relaxed);
}

void look_at_requests(io_uring& ring) {
    ring_state& state = state_of(ring);
    for (; state.requests != ring.sq.sqe_tail; ++state.requests) {
        io_uring_sqe& entry = ring.sq.sqes[state.requests & ring.sq.ring_mask];
        const int error = faults() == nullptr ? 0 : faults()->judge(entry);
        if (error != 0) {
            state.ends.push_back({entry.user_data, error});
            const std::uint64_t user_data = entry.user_data;
            std::memset(&entry, 0, sizeof(entry));
            entry.opcode = IORING_OP_NOP;
            entry.user_data = user_data;
        } else if (entry.opcode == IORING_OP_MSG_RING) {
            tryst::test::messages.fetch_add(1, std::memory_order_relaxed);
        }
    }
}

void look_at_completions(io_uring& ring) {
    if ((IO_URING_READ_ONCE(*ring.sq.kflags) & IORING_SQ_CQ_OVERFLOW) != 0) {
        tryst::test::overflows.fetch_add(1, std::memory_order_relaxed);
    }
    if (faults() != nullptr && faults()->claims_work) {
        // Relaxed: it orders nothing.
        std::atomic_ref(*ring.sq.kflags).fetch_or(IORING_SQ_TASKRUN, std::memory_order_relaxed);
    }
    ring_state& state = state_of(ring);
    const unsigned tail = io_uring_smp_load_acquire(ring.cq.ktail);
    for (; state.completions != tail; ++state.completions) {
        io_uring_cqe& completion = ring.cq.cqes[state.completions & ring.cq.ring_mask];
        for (auto each = state.ends.begin(); each != state.ends.end(); ++each) {
            if (each->user_data == completion.user_data) {
                completion.res = each->result;
                state.ends.erase(each);
                break;
            }
        }
    }
}

/// Takes one of the remaining failures. @returns whether there was one.
bool takes_one(std::atomic<int> kernel_faults::* failures) {
    return faults() != nullptr && (faults()->*failures).load() > 0 &&
           (faults()->*failures).fetch_sub(1) > 0;
}

template <class Call>
int submit(io_uring& ring, Call call) {
    tryst::test::submissions.fetch_add(1, std::memory_order_relaxed);
    if (takes_one(&kernel_faults::failing_submits) ||
        (faults() != nullptr && faults()->submits_fail_at_random && faults()->is_one_in_three())) {
        return -faults()->submit_error;
    }
    look_at_requests(ring);
    const int result = call();
    look_at_completions(ring);
    return result;
}

} // namespace

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {

int io_uring_queue_init_params(unsigned entries, io_uring* ring, io_uring_params* parameters) {
    if (kernel_faults* const all = faults()) {
        ++all->setups;
        if (all->setup_error != 0) {
            return -all->setup_error;
        }
        if ((parameters->flags & all->unknown_flags) != 0) {
            return -EINVAL;
        }
    }
    static const auto next =
        original<decltype(io_uring_queue_init_params)>("io_uring_queue_init_params");
    const int result = next(entries, ring, parameters);
    if (result == 0) {
        state_of(*ring) = {};
        if (kernel_faults* const all = faults()) {
            ring->features &= ~all->unknown_features;
        }
    }
    return result;
}

int io_uring_register(unsigned ring, unsigned opcode, const void* argument, unsigned count) {
    if (opcode == IORING_REGISTER_ENABLE_RINGS && faults() != nullptr &&
        faults()->enable_error != 0) {
        return -faults()->enable_error;
    }
    static const auto next = original<decltype(io_uring_register)>("io_uring_register");
    const int result = next(ring, opcode, argument, count);
    if (opcode == IORING_REGISTER_PROBE && faults() != nullptr &&
        faults()->unknown_operation >= 0) {
        auto* const probe = static_cast<io_uring_probe*>(const_cast<void*>(argument));
        probe->ops[faults()->unknown_operation].flags = 0;
    }
    return result;
}

int io_uring_register_buffers_sparse(io_uring* ring, unsigned count) {
    if (faults() != nullptr && faults()->table_error != 0) {
        return -faults()->table_error;
    }
    static const auto next =
        original<decltype(io_uring_register_buffers_sparse)>("io_uring_register_buffers_sparse");
    return next(ring, count);
}

int io_uring_register_iowq_max_workers(io_uring* ring, unsigned* limits) {
    if (faults() != nullptr && faults()->workers_error != 0) {
        return -faults()->workers_error;
    }
    static const auto next = original<decltype(io_uring_register_iowq_max_workers)>(
        "io_uring_register_iowq_max_workers");
    return next(ring, limits);
}

int io_uring_register_buf_ring(io_uring* ring, io_uring_buf_reg* registration, unsigned flags) {
    if (faults() != nullptr && faults()->buffer_ring_error != 0) {
        return -faults()->buffer_ring_error;
    }
    if (faults() != nullptr && faults()->taken_groups > 0) {
        --faults()->taken_groups;
        return -EEXIST;
    }
    static const auto next =
        original<decltype(io_uring_register_buf_ring)>("io_uring_register_buf_ring");
    return next(ring, registration, flags);
}

int io_uring_submit(io_uring* ring) {
    static const auto next = original<decltype(io_uring_submit)>("io_uring_submit");
    return submit(*ring, [&] { return next(ring); });
}

int io_uring_submit_and_get_events(io_uring* ring) {
    static const auto next =
        original<decltype(io_uring_submit_and_get_events)>("io_uring_submit_and_get_events");
    return submit(*ring, [&] { return next(ring); });
}

int io_uring_get_events(io_uring* ring) {
    static const auto next = original<decltype(io_uring_get_events)>("io_uring_get_events");
    const int result = next(ring);
    look_at_completions(*ring);
    return result;
}

int io_uring_submit_and_wait_timeout(io_uring* ring, io_uring_cqe** completion, unsigned count,
                                     __kernel_timespec* patience, sigset_t* signals) {
    static const auto next =
        original<decltype(io_uring_submit_and_wait_timeout)>("io_uring_submit_and_wait_timeout");
    tryst::test::waits.fetch_add(1, std::memory_order_relaxed);
    if (takes_one(&kernel_faults::early_waits)) {
        io_uring_submit_and_get_events(ring);
        return -faults()->wait_error;
    }
    return submit(*ring, [&] {
        // From here on, no failure is due that another thread orders.
        tryst::test::asleep.fetch_add(1, std::memory_order_relaxed);
        const int result = next(ring, completion, count, patience, signals);
        tryst::test::asleep.fetch_sub(1, std::memory_order_relaxed);
        return result;
    });
}

int eventfd(unsigned count, int flags) noexcept {
    if (faults() != nullptr && faults()->eventfd_error != 0) {
        errno = faults()->eventfd_error;
        return -1;
    }
    static const auto next = original<decltype(eventfd)>("eventfd");
    return next(count, flags);
}

int eventfd_write(int file, eventfd_t value) {
    tryst::test::eventfd_writes.fetch_add(1, std::memory_order_relaxed);
    if (faults() != nullptr && faults()->before_wake) {
        faults()->before_wake();
    }
    static const auto next = original<decltype(eventfd_write)>("eventfd_write");
    return next(file, value);
}

} // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
