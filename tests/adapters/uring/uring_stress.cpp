// SPDX-License-Identifier: MIT
// Races between contexts that spin, contexts that sleep at once, and plain threads, with I/O in
// flight and every way to end a wait. Contexts are destroyed while their coroutines still
// meet others, and while they are being woken. The histories are checked, and each test takes every
// path it is about.
#include "adapters/uring/harness.hpp"
#include "stress/scene.hpp"
#include "stress/step_counts.hpp"
#include "support/bare_coroutine.hpp"
#include "uring/trace.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <liburing.h>
#include <sys/socket.h>

namespace tryst::test {
namespace {

using uring::limits;
using sleep_step = uring::detail::step;

// Both kinds of steps are counted in one array.
static_assert(static_cast<std::size_t>(sleep_step::wake_due) >
              static_cast<std::size_t>(detail::step::sweeping));

constexpr uring::context_options sleeps_at_once{.entries = 16, .max_spins = 0};
constexpr uring::context_options spins_first{.entries = 16};

/// Steps of the protocol and of contexts, as they are counted.
template <class... Step>
constexpr auto steps_of(Step... step) {
    return std::array{static_cast<std::size_t>(step)...};
}

class UringStress : public ::testing::Test {
protected:
    UringStress() { forget_steps(); }

    /// Calls `body` for the given time, and then until each of the steps and, as `lacks` says,
    /// everything else has been seen. How long that takes depends on the machine's load, so only
    /// the time-out of the whole program limits it.
    template <class Lacks, class Body>
    static void repeat(std::span<const std::size_t> steps, Lacks lacks, Body body) {
        const auto is_missing = [](std::size_t step) { return missing(step); };
        const stress_time time;
        for (bool was_told = false; !HasFailure(); body()) {
            const auto step = std::ranges::find_if(steps, is_missing);
            if (time.goes_on([] { return false; })) {
                continue;
            }
            if (step == steps.end() && !lacks()) {
                break;
            }
            if (!std::exchange(was_told, true)) {
                const auto what =
                    step == steps.end() ? "some outcome" : "step " + std::to_string(*step);
                std::fprintf(stderr, "goes on until it has seen %s\n", what.c_str());
            }
        }
        EXPECT_EQ(count_of(sleep_step::wake_in_vain), 0);
        EXPECT_EQ(count_of(sleep_step::undue_wake), 0);
    }
};

// ---- I/O must lose nothing.

void pause_for(unsigned spins) noexcept {
    for (; spins != 0; --spins) {
        detail::spin_pause();
    }
}

/// The outcomes of a test's operations.
struct errands {
    enum outcome : std::uint8_t { done, cancelled, expired, outcomes };

    template <class T>
    bool add(const uring::result<T>& got, const limits& until) {
        if (got) {
            ++count.at(done);
            return true;
        }
        const bool was_stopped = got.error() == std::errc::operation_canceled;
        EXPECT_TRUE((was_stopped && until.stop().stop_possible()) ||
                    got.error() == std::errc::timed_out)
            << got.message();
        ++count.at(was_stopped ? cancelled : expired);
        return false;
    }

    /// Whether there have been too few of some outcome.
    bool misses_any() const {
        return std::ranges::any_of(count, [](const auto& each) { return each.load() < 10; });
    }

    std::atomic<bool> over{false};
    std::array<std::atomic<std::size_t>, outcomes> count{};
};

/// Numbers that go through a pipe, in their order. An end belongs to one party.
class numbered_pipe {
public:
    numbered_pipe() { ::fcntl(ends_.writer.get(), F_SETPIPE_SZ, 4096); }

    task<bool> read(uring::context& home, errands& all, limits until) {
        std::uint32_t number = 0;
        const auto got =
            co_await home.read(ends_.reader.get(), std::as_writable_bytes(std::span(&number, 1)),
                               uring::current_position, until);
        if (got) {
            EXPECT_EQ(*got, sizeof(number));
            EXPECT_EQ(number, next_out_++) << "a cancelled operation has transferred something";
        }
        co_return all.add(got, until);
    }

    task<bool> write(uring::context& home, errands& all, limits until) {
        const auto put =
            co_await home.write(ends_.writer.get(), std::as_bytes(std::span(&next_in_, 1)),
                                uring::current_position, until);
        if (put) {
            EXPECT_EQ(*put, sizeof(next_in_));
            ++next_in_;
        }
        co_return all.add(put, until);
    }

    /// Writes at once, and without a context.
    void write_now() {
        const auto bytes = std::as_bytes(std::span(&next_in_, 1));
        write_text(ends_.writer, text_of(bytes));
        ++next_in_;
    }

private:
    file_pair ends_ = make_pipe();
    std::uint32_t next_in_ = 0;
    std::uint32_t next_out_ = 0;
};

/// A stop token, a deadline, or both.
limits some_limits(scene& s, dice& random) {
    const unsigned roll = random.roll();
    std::stop_token stop;
    if (roll < 12) {
        stop = s.button.current().token;
    }
    return {10us + random.patience() / 2, std::move(stop)};
}

task<> reading_party(uring::context& home, scene& s, errands& all, numbered_pipe& pipe,
                     std::size_t seed) {
    dice random(seed);
    while (!all.over.load(std::memory_order_relaxed)) {
        co_await pipe.read(home, all, some_limits(s, random));
    }
}

/// Writes, makes operations that complete at once, and waits for timers.
task<> writing_party(uring::context& home, scene& s, errands& all, numbered_pipe& pipe,
                     std::size_t seed) {
    dice random(seed);
    while (!all.over.load(std::memory_order_relaxed)) {
        const unsigned roll = random.roll();
        const auto until = some_limits(s, random);
        if (roll < 10) {
            co_await pipe.write(home, all, until);
        } else if (roll < 14) {
            const auto got = co_await home.nop(until);
            all.add(got, until);
        } else {
            const auto got = co_await home.timeout(until);
            if (all.add(got, until)) {
                EXPECT_GE(steady::now(), until.deadline());
            }
        }
    }
}

bare_coroutine wait_for_silence(uring::context& home, numbered_pipe& silent, errands& all,
                                limits until) {
    co_await silent.read(home, all, std::move(until));
}

/// Takes steps that are rare otherwise: stops a read in the kernel, every second time when the
/// kernel has the result, which the loop has not seen.
task<> stop_reads(uring::context& home, errands& all) {
    for (int i = 0; i != 6; ++i) {
        std::stop_source stop;
        numbered_pipe pipe;
        const auto reading = wait_for_silence(home, pipe, all, stop.get_token());
        (void)co_await home.nop(); // the read is in the kernel
        if (i % 2 == 0) {
            pipe.write_now();
        }
        stop.request_stop();
        while (!reading.done()) {
            (void)co_await home.nop();
        }
    }
}

// ---- A context ends.

/// A context that is stopped and destroyed while its parties still exchange and its I/O is in
/// flight.
void a_context_ends(std::size_t seed, errands& io, std::size_t& exchanges, std::size_t& abandoned) {
    constexpr std::size_t on_context = 6;
    constexpr std::size_t on_other = 3;
    constexpr std::size_t on_threads = 2;
    constexpr std::size_t participants = on_context + on_other + on_threads;
    scene s(participants);
    history::log& log = s.record[participants];
    {
        std::vector<std::jthread> threads;
        context_thread other(sleeps_at_once);
        numbered_pipe inside, silent;
        io.over.store(false);
        for (std::size_t i = 0; i != on_threads; ++i) {
            threads.emplace_back([&s, number = on_context + on_other + i] {
                blocking_party(s, number, [](auto&& operation) { return sync_wait(operation); });
            });
        }
        for (std::size_t i = 0; i != on_other; ++i) {
            other->spawn(coroutine_party<task<>>(s, on_context + i));
        }
        std::jthread presser([&](const std::stop_token& over) {
            while (!over.stop_requested()) {
                s.button.press(log);
                std::this_thread::yield();
            }
        });
        std::optional<uring::context> context(std::in_place,
                                              seed % 3 == 0 ? spins_first : sleeps_at_once);
        for (std::size_t number = 0; number != on_context; ++number) {
            context->spawn(coroutine_party<task<>>(s, number));
        }
        context->spawn(stop_reads(*context, io));
        context->spawn(writing_party(*context, s, io, inside, seed));
        context->spawn(reading_party(*context, s, io, inside, seed + 1));
        context->spawn(reading_party(*context, s, io, silent, seed + 2));
        std::atomic<bool> for_good{false};
        std::atomic<unsigned> left{0};
        std::jthread runner([&, seed] {
            do { // what was in flight when it was left starts again
                context->run();
                left.fetch_add(1, std::memory_order_relaxed);
            } while (!for_good.load(std::memory_order_relaxed));
            if (seed % 2 == 0) {
                context.reset();
            }
        });
        for (unsigned stops = 1; stops <= seed % 20; ++stops) {
            for (int i = 0; i != 8; ++i) {
                std::this_thread::yield();
            }
            context->stop();
            yield_until([&] { return left.load(std::memory_order_relaxed) == stops; });
        }
        for_good.store(true, std::memory_order_relaxed);
        context->stop();
        runner.join();
        context.reset();
        presser = {}; // before this thread uses its log
        log.close(0, [&s] { s.ex.close(); });
    }
    EXPECT_EQ(s.record.violations(), "");
    EXPECT_EQ(s.items.alive.load(), 0) << "items leaked, or died twice";
    abandoned += s.record.abandoned();
    exchanges += s.record.exchanged() / 2;
}

TEST_F(UringStress, AContextMayEndWhileOthersCompleteWhatWaitsInIt) {
    constexpr auto steps =
        steps_of(sleep_step::set_aside, sleep_step::stop_after_end, sleep_step::late_cancellation);
    errands io;
    std::size_t exchanges = 0;
    std::size_t abandoned = 0;
    std::size_t seed = 0;
    repeat(
        steps, [&] { return io.misses_any() || exchanges < 100 || abandoned < 10; },
        [&] { a_context_ends(seed++, io, exchanges, abandoned); });
}

// ---- A frame ends.

bare_coroutine wait_for_a_while(uring::context& home, errands& all, limits until) {
    const auto got = co_await home.timeout(until);
    all.add(got, until);
}

/// Destroys frames that wait, at the moment when stops and deadlines arrive.
task<> destroys_frames(uring::context& home, scene& s, errands& all, numbered_pipe& silent) {
    dice random(7);
    while (!all.over.load(std::memory_order_relaxed)) {
        auto first = wait_for_silence(home, silent, all, s.button.current().token);
        auto second = wait_for_a_while(home, all, some_limits(s, random));
        auto third = wait_for_silence(home, silent, all, some_limits(s, random));
        for (unsigned turns = random.roll() % 4; turns != 0; --turns) {
            if (turns % 2 == 0) {
                (void)co_await home.nop();
            } else {
                co_await home.schedule();
            }
        }
    }
    home.stop();
}

TEST_F(UringStress, AFrameMayBeDestroyedWhileAStopReachesForItsOperation) {
    constexpr auto steps = steps_of(sleep_step::retracted_stop, sleep_step::stop_after_end);
    scene s(0);
    errands io;
    numbered_pipe silent;
    uring::context home(sleeps_at_once);
    home.spawn(destroys_frames(home, s, io, silent));
    std::jthread runner([&] { home.run(); });
    repeat(
        steps, [] { return false; },
        [&] {
            s.button.press(s.record[0]);
            std::this_thread::yield();
        });
    io.over.store(true, std::memory_order_relaxed);
}

// ---- A stream goes on.

/// Receives consecutive numbers, with stops and deadlines, and keeps some pieces, so that buffers
/// run out.
task<> receive_in_order(uring::context& home, scene& s, errands& all, int socket,
                        std::atomic<std::size_t>& short_of_buffers, bool& at_end) {
    dice random(9);
    uring::recv_stream stream(home, socket, 4, 64);
    std::vector<uring::received> held;
    std::uint8_t expected = 0;
    while (!at_end && !::testing::Test::HasFailure()) {
        const auto until = some_limits(s, random);
        auto got = co_await stream.next(until);
        if (got.error() == std::errc::no_buffer_space) {
            ++short_of_buffers;
            held.clear();
            continue;
        }
        if (!all.add(got, until)) {
            continue;
        }
        for (const std::byte each : got->bytes()) {
            EXPECT_EQ(std::to_integer<std::uint8_t>(each), expected++);
        }
        at_end = got->is_end();
        if (held.size() == 4 || random.roll() < 5) {
            held.clear();
        }
        held.push_back(*std::move(got));
    }
    at_end = true;
    home.stop();
}

TEST_F(UringStress, AStreamThatIsLeftAndStoppedLosesNothing) {
    constexpr auto steps = steps_of(sleep_step::set_aside);
    scene s(0);
    errands io;
    file_pair sockets = make_sockets();
    std::atomic<std::size_t> short_of_buffers{0};
    std::size_t sent = 0;
    std::atomic<bool> over{false};
    bool at_end = false;
    uring::context home(sleeps_at_once);
    home.spawn(receive_in_order(home, s, io, sockets.reader.get(), short_of_buffers, at_end));
    std::jthread runner([&] {
        while (!at_end) {
            home.run();
        }
    });
    std::jthread sender([&] {
        std::minstd_rand random(1);
        std::array<std::uint8_t, 300> bytes{};
        while (!over.load(std::memory_order_relaxed)) {
            const std::size_t count = 1 + random() % (1U << random() % 9);
            for (std::size_t i = 0; i != count; ++i) {
                bytes.at(i) = static_cast<std::uint8_t>(sent + i);
            }
            const auto written = ::send(sockets.writer.get(), bytes.data(), count, MSG_NOSIGNAL);
            ASSERT_GT(written, 0);
            sent += static_cast<std::size_t>(written);
            pause_for(static_cast<unsigned>(random() % (1U << random() % 14)));
        }
        sockets.writer.reset();
    });
    repeat(
        steps, [&] { return io.misses_any() || short_of_buffers.load() == 0; },
        [&] {
            s.button.press(s.record[0]);
            home.stop();
            std::this_thread::yield();
        });
    over.store(true, std::memory_order_relaxed);
}

// ---- Wakes.

/// The rings that this process has, by their file descriptors.
std::set<int> rings() {
    std::set<int> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        if (read_symlink(entry.path(), gone) == "anon_inode:[io_uring]") {
            found.insert(std::stoi(entry.path().filename()));
        }
    }
    return found;
}

/// A context whose kernel refuses messages to other rings. Meanwhile no other thread makes or
/// closes a ring.
std::unique_ptr<uring::context> context_without_messages() {
    const auto before = rings();
    auto made = std::make_unique<uring::context>(sleeps_at_once);
    const auto after = rings();
    std::vector<int> mine;
    std::ranges::set_difference(after, before, std::back_inserter(mine));
    EXPECT_EQ(mine.size(), 1U);
    const auto allows = [](std::uint16_t what, std::uint8_t which) {
        io_uring_restriction rule{};
        rule.opcode = what;
        rule.sqe_op = which; // of a union with register_op and sqe_flags
        return rule;
    };
    std::array rules{
        allows(IORING_RESTRICTION_REGISTER_OP, IORING_REGISTER_ENABLE_RINGS),
        allows(IORING_RESTRICTION_SQE_OP, IORING_OP_NOP),
        allows(IORING_RESTRICTION_SQE_OP, IORING_OP_POLL_ADD),
        allows(IORING_RESTRICTION_SQE_OP, IORING_OP_ASYNC_CANCEL),
        allows(IORING_RESTRICTION_SQE_FLAGS_ALLOWED, IOSQE_CQE_SKIP_SUCCESS),
    };
    EXPECT_EQ(io_uring_register(static_cast<unsigned>(mine.at(0)), IORING_REGISTER_RESTRICTIONS,
                                rules.data(), static_cast<unsigned>(rules.size())),
              0);
    return made;
}

/// In each round, all posters wake a new context at once, and it is destroyed as soon as allowed.
struct rounds {
    static constexpr std::size_t posters = 4;

    /// The last of them that is run stops the context.
    struct ping : executor_node {
        rounds* all;
    };

    rounds() {
        for (ping& each : pings) {
            each.all = this;
            each.run = [](executor_node* node) noexcept {
                rounds& all = *static_cast<ping*>(node)->all;
                if (--all.left == 0) {
                    all.target->stop();
                }
            };
        }
    }

    /// One poster's part of a round. @returns whether there was one.
    bool post(std::size_t number, std::minstd_rand& jitter) {
        start.arrive_and_wait();
        if (over) {
            return false;
        }
        pause_for(static_cast<unsigned>(jitter() % (1U << jitter() % 14)));
        target->post(&pings.at(number));
        return true;
    }

    std::array<ping, posters> pings{};
    std::size_t left = 0; ///< Used by the target's thread only.
    std::optional<uring::context> target;
    bool over = false;
    std::barrier<> start{posters + 1};
    std::barrier<> end{posters + 1};
};

/// Posts from a context, which wakes the target by a message.
task<> post_from(uring::context& home, rounds& all, std::size_t number) {
    std::minstd_rand jitter(static_cast<unsigned>(number) + 1);
    while (all.post(number, jitter)) {
        (void)co_await home.nop(); // a refused message completes here
        all.end.arrive_and_wait();
    }
    home.stop();
}

/// The causes that wake the target, other than posters.
task<> doze_for_moments(uring::context& home, std::size_t seed) {
    std::minstd_rand jitter(static_cast<unsigned>(seed) + 1);
    while (true) {
        (void)co_await home.timeout(std::chrono::nanoseconds(1 + jitter() % (1U << jitter() % 17)));
    }
}

task<> come_and_go(uring::context& home) {
    while (true) {
        (void)co_await home.nop();
    }
}

TEST_F(UringStress, AContextMayBeDestroyedAsSoonAsRunReturnsWhilePostersWakeIt) {
    constexpr auto steps =
        steps_of(sleep_step::wake_due, sleep_step::wake_by_message, sleep_step::wake_by_eventfd,
                 sleep_step::refused_message, sleep_step::own_wake, sleep_step::owed_wake,
                 sleep_step::owed_sleep, sleep_step::owed_quiesce);
    rounds all;
    uring::context caller(sleeps_at_once);
    const auto refused = context_without_messages();
    caller.spawn(post_from(caller, all, 2));
    refused->spawn(post_from(*refused, all, 3));
    {
        std::vector<std::jthread> posters;
        for (std::size_t number = 0; number != 2; ++number) {
            posters.emplace_back([&all, number] {
                std::minstd_rand jitter(static_cast<unsigned>(number) + 1);
                while (all.post(number, jitter)) {
                    all.end.arrive_and_wait();
                }
            });
        }
        posters.emplace_back([&] { caller.run(); });
        posters.emplace_back([&] { refused->run(); });
        std::size_t count = 0;
        repeat(
            steps, [] { return false; },
            [&] {
                all.left = rounds::posters;
                uring::context& target = all.target.emplace(sleeps_at_once);
                if (count % 3 == 0) {
                    target.spawn(doze_for_moments(target, count));
                } else if (count % 3 == 1) {
                    target.spawn(come_and_go(target));
                }
                ++count;
                all.start.arrive_and_wait();
                target.run();
                all.target.reset();
                all.end.arrive_and_wait();
            });
        all.over = true;
        all.start.arrive_and_wait();
    }
    // The program reaches this line only if each owed wake was awaited.
    EXPECT_EQ(count_of(sleep_step::wake_due),
              count_of(sleep_step::wake_by_message) + count_of(sleep_step::wake_by_eventfd));
}

} // namespace
} // namespace tryst::test
