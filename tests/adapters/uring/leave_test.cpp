// SPDX-License-Identifier: MIT
// How `run` cancels the operations in flight when it returns: the order, the size of a batch, and
// that nothing is lost.
#include <tryst/uring/context.hpp>

#include "adapters/uring/harness.hpp"
#include "adapters/uring/kernel_faults.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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

/// Records the requests to the kernel, in order.
class request_log {
public:
    request_log() {
        faults_.on_request = [this](const io_uring_sqe& entry) {
            if (entry.opcode == IORING_OP_READ || entry.opcode == IORING_OP_FSYNC) {
                started_.push_back(entry.user_data);
            } else if (entry.opcode == IORING_OP_ASYNC_CANCEL) {
                if (std::find(cancelled_.begin(), cancelled_.end(), entry.addr) ==
                    cancelled_.end()) { // not asked again
                    cancelled_.push_back(entry.addr);
                }
                count_in_submission();
            }
            return 0;
        };
    }

    void clear() {
        started_.clear();
        cancelled_.clear();
    }

    /// The operations, in the order of their starts.
    const std::vector<std::uint64_t>& started() const noexcept { return started_; }
    /// The operations, in the order in which they were first cancelled.
    const std::vector<std::uint64_t>& cancelled() const noexcept { return cancelled_; }
    /// The most cancellations in one submission.
    int largest_batch() const noexcept { return largest_batch_; }

private:
    void count_in_submission() {
        const long submission = submissions.load();
        batch_ = submission == last_submission_ ? batch_ + 1 : 1;
        last_submission_ = submission;
        largest_batch_ = std::max(largest_batch_, batch_);
    }

    std::vector<std::uint64_t> started_;
    std::vector<std::uint64_t> cancelled_;
    long last_submission_ = -1;
    int batch_ = 0;
    int largest_batch_ = 0;
    kernel_faults faults_;
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

    /// Runs the loop only to leave it.
    void leave() {
        loop_.stop();
        loop_.run();
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
    request_log requests_;
    context loop_{{.entries = entries}};
};

TEST_F(UringLeave, CancelsTheNewestReadFirst) {
    start_reads();
    leave();
    ASSERT_EQ(requests_.started().size(), count);
    EXPECT_TRUE(std::equal(requests_.started().rbegin(), requests_.started().rend(),
                           requests_.cancelled().begin(), requests_.cancelled().end()));
}

TEST_F(UringLeave, CancelsAsManyReadsAtATimeAsTheKernelForgetsAtATime) {
    start_reads();
    leave();
    EXPECT_EQ(requests_.cancelled().size(), count);
    EXPECT_GT(requests_.largest_batch(), 1);
    EXPECT_LE(requests_.largest_batch(), 20); // task work that one system call runs
}

TEST_F(UringLeave, StartsTheOldestReadFirstAgain) {
    start_reads();
    const auto before = requests_.started();
    leave();
    requests_.clear();
    loop_.run_until_idle();
    EXPECT_EQ(requests_.started(), before);
}

TEST_F(UringLeave, StartsTheOldestReadFirstAgainAndThoseThatHadNoEntryAfterIt) {
    constexpr std::size_t some = entries + 8;
    for (std::size_t i = 0; i != some; ++i) {
        loop_.spawn(read_one(i, {}));
    }
    loop_.stop();
    kernel_faults::current.load()->failing_submits = 1; // by the read that finds the queue full
    loop_.run();
    const auto before = requests_.started();
    EXPECT_EQ(before.size(), entries);
    requests_.clear();
    loop_.run_until_idle();
    const auto& again = requests_.started();
    ASSERT_EQ(again.size(), some);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), again.begin()));
}

TEST_F(UringLeave, CancelsTheOldestOperationOfWorkersFirstAndReadsAfterThem) {
    constexpr std::size_t some = entries - 2; // none is submitted before the loop is left
    for (std::size_t i = 0; i != some; i += 2) {
        loop_.spawn(read_one(i, {}));
        loop_.spawn(sync_one(i + 1));
    }
    leave();
    std::vector<std::uint64_t> expected;
    const auto& starts = requests_.started();
    ASSERT_EQ(starts.size(), some);
    for (std::size_t i = 1; i < some; i += 2) {
        expected.push_back(starts[i]);
    }
    for (std::size_t i = some; i != 0; i -= 2) {
        expected.push_back(starts[i - 2]);
    }
    EXPECT_EQ(requests_.cancelled(), expected);
    write_text(pipe_.writer, std::string(some / 2, 'x'));
    while (std::count(ends_.begin(), ends_.end(), 1) != std::ptrdiff_t{some}) {
        loop_.run_until_idle();
    }
    EXPECT_EQ(read_, some / 2);
}

TEST_F(UringLeave, LosesAndRepeatsNoRead) {
    start_reads();
    leave();
    leave(); // nothing is in flight
    loop_.run_until_idle();
    write_text(pipe_.writer, std::string(count / 2, 'x')); // which nobody has fetched yet
    leave();
    loop_.run_until_idle();
    leave();
    write_text(pipe_.writer, std::string(count / 2, 'x'));
    while (read_ != count) {
        loop_.run_until_idle();
    }
    expect_each_ended(1);
    EXPECT_EQ(std::count(bytes_.begin(), bytes_.end(), std::byte{'x'}), std::ptrdiff_t{count});
    EXPECT_EQ(read_text(pipe_.reader), "");
}

TEST_F(UringLeave, LosesNoStopThatComesBetweenTwoRuns) {
    std::stop_source stop;
    start_reads(stop.get_token());
    leave();
    stop.request_stop();
    loop_.run_until_idle();
    expect_each_ended(1);
    EXPECT_EQ(stopped_, count);
    write_text(pipe_.writer, "x");
    EXPECT_EQ(read_text(pipe_.reader), "x");
}

TEST_F(UringLeave, LosesNothingIfTheKernelFailsMeanwhile) {
    start_reads();
    {
        auto* const faults = kernel_faults::current.load();
        faults->submits_fail_at_random = true;
        leave();
        faults->submits_fail_at_random = false;
    }
    loop_.run_until_idle();
    write_text(pipe_.writer, std::string(count, 'x'));
    while (read_ != count) {
        loop_.run_until_idle();
    }
    expect_each_ended(1);
}

} // namespace
