// SPDX-License-Identifier: MIT
// More operations than the ring has entries. How `run` cancels them when it returns: the order, the
// size of a batch, and that nothing is lost.
#include <tryst/uring/context.hpp>

#include "adapters/uring/harness.hpp"
#include "adapters/uring/kernel_faults.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <liburing.h>

namespace {

using namespace tryst::test;
using tryst::task;
using tryst::uring::current_position;
using tryst::uring::limits;

/// Records the operations that the kernel starts and cancels.
class start_log {
public:
    start_log() {
        faults.on_request = [this](const io_uring_sqe& entry) {
            if (entry.opcode == IORING_OP_READ || entry.opcode == IORING_OP_FSYNC) {
                started.push_back(entry.user_data);
            } else if (entry.opcode == IORING_OP_ASYNC_CANCEL) {
                if (std::ranges::find(cancelled, entry.addr) == cancelled.end()) {
                    cancelled.push_back(entry.addr);
                }
                const long submission = submissions;
                batch_ = submission == last_submission_ ? batch_ + 1 : 1;
                last_submission_ = submission;
                largest_batch = std::max(largest_batch, batch_);
            }
            return 0;
        };
    }

    std::vector<std::uint64_t> started; ///< In their order.
    std::vector<std::uint64_t> cancelled; ///< In the order in which each was first cancelled.
    int largest_batch = 0; ///< The most cancellations in one submission.
    kernel_faults faults;

private:
    long last_submission_ = -1;
    int batch_ = 0;
};

/// Many operations at once, and how often each has ended.
class UringLeave : public testing::Test {
public:
    UringLeave() : ends_(count), bytes_(count) {}

    task<> read_one(std::size_t index, limits until) {
        const auto got = co_await loop_.read(pipe_.reader.get(), std::span(&bytes_[index], 1),
                                             current_position, std::move(until));
        ++ends_[index];
        read_ += got ? *got : 0;
        stopped_ += got.error() == std::errc::operation_canceled ? 1U : 0U;
    }

    task<> sync_one(std::size_t index) {
        const auto done = co_await loop_.fsync(file_.get());
        EXPECT_TRUE(done) << done.message();
        ++ends_[index];
    }

    void start_reads(const limits& until = {}) {
        for (std::size_t i = 0; i != count; ++i) {
            loop_.spawn(read_one(i, until));
        }
        loop_.run_until_idle();
    }

    void expect_each_ended(int times) const {
        EXPECT_EQ(std::count(ends_.begin(), ends_.end(), times), std::ptrdiff_t{count});
    }

    static constexpr std::size_t count = 1'000;
    static constexpr unsigned entries = 32;

    const file_pair pipe_ = make_pipe();
    const descriptor file_ = make_file("word");
    std::vector<int> ends_;
    std::vector<std::byte> bytes_;
    std::size_t read_ = 0;
    std::size_t stopped_ = 0;
    start_log requests_;
    context loop_{{.entries = entries}};
};

TEST_F(UringLeave, CancelsTheNewestReadFirstAndStartsTheOldestFirstAgain) {
    start_reads();
    leave(loop_);
    const auto before = requests_.started;
    EXPECT_EQ(before.size(), count);
    EXPECT_EQ(std::vector(before.rbegin(), before.rend()), requests_.cancelled);
    EXPECT_GT(requests_.largest_batch, 1);
    EXPECT_LE(requests_.largest_batch, 20); // task work that one system call runs
    requests_.started.clear();
    loop_.run_until_idle();
    EXPECT_EQ(requests_.started, before);
}

TEST_F(UringLeave, StartsTheOldestReadFirstAgainAndThoseThatHadNoEntryAfterIt) {
    constexpr std::size_t some = entries + 8;
    for (std::size_t i = 0; i != some; ++i) {
        loop_.spawn(read_one(i, {}));
    }
    loop_.stop();
    requests_.faults.failing_submits = 1; // by the read that finds the queue full
    loop_.run();
    const auto before = requests_.started;
    EXPECT_EQ(before.size(), entries);
    requests_.started.clear();
    loop_.run_until_idle();
    const auto& again = requests_.started;
    ASSERT_EQ(again.size(), some);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), again.begin()));
}

TEST_F(UringLeave, CancelsTheOldestOperationOfWorkersFirstAndReadsAfterThem) {
    constexpr std::size_t some = entries - 2; // none is submitted before the loop is left
    for (std::size_t i = 0; i != some; i += 2) {
        loop_.spawn(read_one(i, {}));
        loop_.spawn(sync_one(i + 1));
    }
    leave(loop_);
    std::vector<std::uint64_t> expected;
    const auto& starts = requests_.started;
    ASSERT_EQ(starts.size(), some);
    for (std::size_t i = 1; i < some; i += 2) {
        expected.push_back(starts[i]);
    }
    for (std::size_t i = some; i != 0; i -= 2) {
        expected.push_back(starts[i - 2]);
    }
    EXPECT_EQ(requests_.cancelled, expected);
    write_text(pipe_.writer, std::string(some / 2, 'x'));
    while (std::count(ends_.begin(), ends_.end(), 1) != std::ptrdiff_t{some}) {
        loop_.run_until_idle();
    }
    EXPECT_EQ(read_, some / 2);
}

TEST_F(UringLeave, LosesAndRepeatsNoRead) {
    start_reads();
    leave(loop_);
    leave(loop_); // nothing is in flight
    loop_.run_until_idle();
    write_text(pipe_.writer, std::string(count / 2, 'x')); // which nobody has fetched yet
    leave(loop_);
    loop_.run_until_idle();
    requests_.faults.submits_fail_at_random = true;
    leave(loop_);
    requests_.faults.submits_fail_at_random = false;
    loop_.run_until_idle();
    write_text(pipe_.writer, std::string(count / 2, 'x'));
    while (read_ != count) {
        loop_.run_until_idle();
    }
    expect_each_ended(1);
    EXPECT_EQ(std::count(bytes_.begin(), bytes_.end(), std::byte{'x'}), std::ptrdiff_t{count});
    EXPECT_EQ(read_text(pipe_.reader), "");
}

// ---- Without leaving

TEST_F(UringLeave, IsNotNeededToHaveMoreOperationsThanEntries) {
    // A ring with deferred task work completes so few reads at a time that they do not overflow;
    // those of other rings do, and operations that complete at once.
    for (const char* const what : {"nops", "reads", "deferred reads"}) {
        SCOPED_TRACE(what);
        const bool is_deferred = what[0] == 'd';
        requests_.faults.unknown_flags = is_deferred ? 0 : IORING_SETUP_DEFER_TASKRUN;
        context loop({.entries = 4});
        std::size_t done = 0;
        const auto await = [&](auto make) -> task<> {
            const auto got = co_await make();
            EXPECT_TRUE(got);
            if (++done == count) {
                loop.stop();
            }
        };
        const long before = overflows;
        const auto nop = [&] { return loop.nop(); };
        const auto read = [&](std::size_t i) {
            return [&, i] { return loop.read(pipe_.reader.get(), std::span(&bytes_[i], 1)); };
        };
        for (std::size_t i = 0; i != count; ++i) {
            loop.spawn(what[0] == 'n' ? await(nop) : await(read(i)));
        }
        if (what[0] != 'n') {
            loop.run_until_idle();
            EXPECT_EQ(done, 0U);
            write_text(pipe_.writer, std::string(count, 'x')); // all complete at once
        }
        loop.run();
        EXPECT_EQ(done, count);
        EXPECT_EQ(read_text(pipe_.reader), "");
        EXPECT_TRUE(is_deferred || overflows > before);
    }
}

TEST_F(UringLeave, IsNotNeededToCancelMoreOperationsThanEntries) {
    std::stop_source stop;
    start_reads(stop.get_token());
    loop_.spawn(call([&] { stop.request_stop(); }));
    yield_until([&] { return loop_.run_until_idle(), stopped_ == count; });
    expect_each_ended(1);
}

} // namespace
