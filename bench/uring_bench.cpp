// SPDX-License-Identifier: MIT
// Contexts over io_uring: the time of a swap between two contexts, of a change of context and of a
// wake-up; and a file copied in two stages, each on its own context, that pass two buffers to and
// fro in several ways.
#include "rivals/cpp/mutex_meeting.hpp"
#include "rivals/cpp/run_loops.hpp"
#include "rivals/cpp/workloads.hpp"
#include "support.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <boost/lockfree/spsc_queue.hpp>

#include <fcntl.h>
#include <liburing.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <barrier>
#include <coroutine>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <system_error>

namespace tryst::bench {
namespace {

constexpr uring::context_options spinning{};
/// Contexts that sleep as soon as they are idle.
constexpr uring::context_options sleeping{.max_spins = 0};

/// Runs each context in a thread of its own, pinned, until all contexts have stopped, and calls
/// `meanwhile`.
template <class Meanwhile>
steady::duration run_contexts(std::span<uring::context* const> contexts, Meanwhile meanwhile) {
    std::barrier step(static_cast<std::ptrdiff_t>(contexts.size()) + 1);
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i != contexts.size(); ++i) {
        threads.push_back(pinned_thread(i, [&step, context = contexts[i]] {
            step.arrive_and_wait();
            context->run();
            step.arrive_and_wait();
        }));
    }
    step.arrive_and_wait();
    const auto begin = steady::now();
    meanwhile();
    step.arrive_and_wait();
    return steady::now() - begin;
}

// ---- From one context to another.

/// The family of tasks on contexts, for the workloads of rivals/cpp.
template <unsigned MaxSpins>
class contexts {
public:
    using bodies = coroutine_bodies<contexts>;
    using task = tryst::task<>;
    static constexpr bool of_threads = false;

    explicit contexts(unsigned count) : stopped_(static_cast<std::ptrdiff_t>(count)) {
        for (unsigned i = 0; i != count; ++i) {
            all_.push_back(
                std::make_unique<uring::context>(uring::context_options{.max_spins = MaxSpins}));
        }
    }

    template <class Operation>
    static by_reference<Operation> wait(Operation&& operation) noexcept {
        return {operation};
    }

    std::size_t size() const noexcept { return all_.size(); }
    static bool pinned() noexcept { return true; }
    template <class Start>
    void spawn(unsigned loop, Start start) {
        all_[loop]->spawn(start());
    }
    /// A context keeps to its thread, so each thread also runs what is left after all have stopped.
    void run(unsigned loop) {
        all_[loop]->run();
        stopped_.arrive_and_wait();
        all_[loop]->run_until_idle();
    }
    void stop() {
        for (auto& each : all_) {
            each->stop();
        }
    }
    void settle() {}

private:
    std::vector<std::unique_ptr<uring::context>> all_;
    std::barrier<> stopped_;
};

[[maybe_unused]] const bool added = [] {
    using meeting = exchanger<item>;
    using awake = contexts<spinning.max_spins>;
    add("two_contexts", swaps<awake, meeting>, 2, {1, 16, 1'000});
    add("two_sleeping_contexts", swaps<contexts<sleeping.max_spins>, meeting>, 2, {1});
    return true;
}();

/// A coroutine that moves to and fro between two contexts.
task<> hop(uring::context& there, uring::context& back, std::int64_t& hops,
           const std::atomic<bool>& over) {
    while (!over.load(std::memory_order_relaxed)) {
        co_await there.schedule();
        co_await back.schedule();
        hops += 2;
    }
    there.stop();
    back.stop();
}

void hop_between(benchmark::State& state, uring::context_options options) {
    for ([[maybe_unused]] auto _ : state) {
        uring::context first(options);
        uring::context second(options);
        std::int64_t hops = 0;
        std::atomic<bool> over{false};
        first.spawn(hop(second, first, hops, over));
        const auto end = [&] {
            std::this_thread::sleep_for(sample_time);
            over.store(true, std::memory_order_relaxed);
        };
        const auto elapsed = run_contexts(std::array{&first, &second}, end);
        report(state, elapsed, static_cast<std::uint64_t>(hops));
    }
}

void hop_awake(benchmark::State& state) {
    hop_between(state, spinning);
}
BENCHMARK(hop_awake)->Apply(one_sample);

void hop_asleep(benchmark::State& state) {
    hop_between(state, sleeping);
}
BENCHMARK(hop_asleep)->Apply(one_sample);

/// For comparison with `hop_asleep`: two threads, each with a ring that is set up as a context's
/// is, wake each other by one system call and sleep in the kernel in between. Reports the time of
/// one wake-up.
template <class Call>
void wake_bare_rings(benchmark::State& state, Call call) {
    for ([[maybe_unused]] auto _ : state) {
        std::array<int, 2> rings{};
        std::array<int, 2> eventfds{::eventfd(0, 0), ::eventfd(0, 0)};
        std::array<std::int64_t, 2> calls{};
        std::atomic<bool> over{false};
        std::atomic<bool> ended{false};
        std::barrier start(2);
        const auto play = [&](std::size_t mine) {
            io_uring ring{};
            io_uring_params parameters{};
            parameters.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
            io_uring_queue_init_params(8, &ring, &parameters);
            rings[mine] = ring.ring_fd;
            start.arrive_and_wait();
            const std::size_t other = 1 - mine;
            std::uint64_t token = 0;
            const auto sleep = [&] {
                call.expect(ring, eventfds[mine], token);
                io_uring_submit_and_wait(&ring, 1);
                io_uring_cq_advance(&ring, io_uring_cq_ready(&ring));
            };
            if (mine == 1) {
                sleep();
            }
            while (!ended.load(std::memory_order_relaxed)) {
                ended.store(over.load(std::memory_order_relaxed), std::memory_order_relaxed);
                ++calls[mine];
                call.make(ring, rings[other], eventfds[other]);
                if (ended.load(std::memory_order_relaxed)) {
                    io_uring_submit(&ring);
                    break;
                }
                sleep();
            }
            start.arrive_and_wait();
            io_uring_queue_exit(&ring);
        };
        const auto begin = steady::now();
        {
            const auto first = pinned_thread(0, [&] { play(0); });
            const auto second = pinned_thread(1, [&] { play(1); });
            std::this_thread::sleep_for(sample_time);
            over.store(true, std::memory_order_relaxed);
        }
        const auto elapsed = steady::now() - begin;
        report(state, elapsed, static_cast<std::uint64_t>(calls[0] + calls[1]));
        ::close(eventfds[0]);
        ::close(eventfds[1]);
    }
}

struct by_message {
    static void make(io_uring& ring, int other, int /*eventfd*/) {
        io_uring_sqe* const entry = io_uring_get_sqe(&ring);
        io_uring_prep_msg_ring(entry, other, 0, 1, 0);
        entry->flags = IOSQE_CQE_SKIP_SUCCESS;
    }
    static void expect(io_uring& /*ring*/, int /*eventfd*/, std::uint64_t& /*token*/) {}
};
struct by_eventfd {
    static void make(io_uring& /*ring*/, int /*other*/, int eventfd) {
        ::eventfd_write(eventfd, 1);
    }
    static void expect(io_uring& ring, int eventfd, std::uint64_t& token) {
        io_uring_prep_read(io_uring_get_sqe(&ring), eventfd, &token, sizeof token, 0);
    }
};

void bare_msg_ring(benchmark::State& state) {
    wake_bare_rings(state, by_message{});
}
BENCHMARK(bare_msg_ring)->Apply(one_sample);

void bare_eventfd(benchmark::State& state) {
    wake_bare_rings(state, by_eventfd{});
}
BENCHMARK(bare_eventfd)->Apply(one_sample);

// ---- A file copied in two stages.

/// A full or empty buffer that passes between the stages. The reader ends by giving an empty one.
struct chunk {
    explicit chunk(uring::buffer whole) noexcept : memory(std::move(whole)) {}
    uring::buffer memory;
    std::size_t length = 0;
};

/// Swaps full for empty in one step. The writer begins with the second buffer.
template <class Meeting>
class by_swap {
public:
    task<chunk> give_full(chunk full) { return give(std::move(full)); }
    task<chunk> give_empty(chunk empty) { return give(std::move(empty)); }

private:
    task<chunk> give(chunk mine) {
        auto theirs = co_await meeting_.exchange(std::move(mine));
        co_return std::move(*theirs);
    }

    Meeting meeting_;
};
using by_exchange = by_swap<exchanger<chunk>>;
using by_mutex = by_swap<mutex_meeting<chunk>>;

/// A coroutine that waits for an item of a queue.
struct queue_waiter : executor_node {
    template <class Promise>
    void suspend(std::coroutine_handle<Promise> waiting) {
        coroutine = waiting;
        home = executor_of(waiting);
        run = [](executor_node* node) noexcept {
            static_cast<queue_waiter*>(node)->coroutine.resume();
        };
    }
    void wake() { home.post(this); }

    std::coroutine_handle<> coroutine;
    executor_ref home;
};

/// Boost's queue for one producer and one consumer, and a place for a coroutine that waits for an
/// item.
class spsc_channel {
public:
    void push(chunk&& item) {
        items_.push(new chunk(std::move(item)));
        // Both sides write, then read. Sequential consistency ensures that one sees the other.
        if (waiter_.load() != nullptr) {
            if (queue_waiter* const waiter = waiter_.exchange(nullptr)) {
                waiter->wake();
            }
        }
    }

    auto pop() {
        struct awaiter : queue_waiter {
            explicit awaiter(spsc_channel& from) : channel(from) {}
            bool await_ready() const { return channel.items_.read_available() != 0; }
            bool await_suspend(std::coroutine_handle<> waiting) {
                suspend(waiting);
                channel.waiter_.store(this);
                // If an item came in between, the side that takes the waiter back resumes it.
                return channel.items_.read_available() == 0 ||
                       channel.waiter_.exchange(nullptr) == nullptr;
            }
            chunk await_resume() const {
                chunk* item = nullptr;
                channel.items_.pop(item);
                const std::unique_ptr<chunk> owned(item);
                return std::move(*owned);
            }
            spsc_channel& channel;
        };
        return awaiter(*this);
    }

private:
    boost::lockfree::spsc_queue<chunk*, boost::lockfree::capacity<4>> items_;
    alignas(detail::line_pair) std::atomic<queue_waiter*> waiter_{nullptr};
};

/// One queue for full buffers, one for empty buffers.
class by_spsc_queues {
public:
    task<chunk> give_full(chunk full) {
        full_.push(std::move(full));
        co_return co_await empty_.pop();
    }
    task<chunk> give_empty(chunk empty) {
        empty_.push(std::move(empty));
        co_return co_await full_.pop();
    }

private:
    spsc_channel full_;
    spsc_channel empty_;
};

struct file_pair {
    int from;
    int to;
    std::size_t size;
};

template <class Way>
task<> read_stage(uring::context& home, uring::buffer memory, file_pair files, Way& way) {
    chunk mine(std::move(memory));
    for (std::size_t offset = 0; offset < files.size; offset += mine.memory.size()) {
        const auto bytes = mine.memory.bytes();
        const auto got = co_await home.read_fixed(files.from, mine.memory, bytes, offset);
        mine.length = got.value();
        chunk empty = co_await way.give_full(std::move(mine));
        mine = std::move(empty);
    }
    mine.length = 0;
    const chunk empty = co_await way.give_full(std::move(mine));
    home.stop();
}

template <class Way>
task<> write_stage(uring::context& home, uring::buffer memory, file_pair files, Way& way) {
    chunk mine(std::move(memory));
    std::size_t offset = 0;
    while (true) {
        chunk full = co_await way.give_empty(std::move(mine));
        mine = std::move(full);
        if (mine.length == 0) {
            break;
        }
        const auto bytes = mine.memory.bytes().first(mine.length);
        const auto written = co_await home.write_fixed(files.to, mine.memory, bytes, offset);
        offset += written.value();
    }
    home.stop();
}

/// One of two lanes on a single ring: reads and writes every other block.
task<> lane(uring::context& home, uring::buffer memory, file_pair files, std::size_t first,
            int& running) {
    for (std::size_t offset = first * memory.size(); offset < files.size;
         offset += 2 * memory.size()) {
        const std::size_t length =
            *co_await home.read_fixed(files.from, memory, memory.bytes(), offset);
        static_cast<void>(
            co_await home.write_fixed(files.to, memory, memory.bytes().first(length), offset));
    }
    if (--running == 0) {
        home.stop();
    }
}

template <class Way>
steady::duration copy_by(uring::buffer_pool& pool, file_pair files) {
    uring::context reader;
    uring::context writer;
    static_cast<void>(reader.register_buffers(pool));
    static_cast<void>(writer.register_buffers(pool));
    Way way;
    reader.spawn(read_stage(reader, pool.acquire(), files, way));
    writer.spawn(write_stage(writer, pool.acquire(), files, way));
    return run_contexts(std::array{&reader, &writer}, [] {});
}

struct one_ring {};

template <>
steady::duration copy_by<one_ring>(uring::buffer_pool& pool, file_pair files) {
    uring::context both;
    static_cast<void>(both.register_buffers(pool));
    int running = 2;
    both.spawn(lane(both, pool.acquire(), files, 0, running));
    both.spawn(lane(both, pool.acquire(), files, 1, running));
    return run_contexts(std::array{&both}, [] {});
}

/// A source of random bytes and its copy, two files in the current directory.
class files {
public:
    static constexpr std::size_t size = std::size_t{64} << 20;

    files() {
        std::mt19937_64 random(1); // NOLINT(cert-msc51-cpp): the same noise each time
        for (auto& word : noise_) {
            word = random();
        }
        const int from = ::open(from_.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
        write_all(from, noise_);
        ::close(from);
    }
    ~files() {
        std::filesystem::remove(from_);
        std::filesystem::remove(to_);
    }
    files(const files&) = delete;
    files& operator=(const files&) = delete;

    /// Fills the copy with zeros, so that all samples start alike and no older copy passes for a
    /// new one.
    void reset() {
        const int to = ::open(to_.c_str(), O_CREAT | O_WRONLY, 0600);
        write_all(to, std::vector<std::uint64_t>(noise_.size()));
        ::fsync(to); // so that write-back does not disturb the sample
        ::close(to);
    }
    /// Returns whether the first `length` bytes of both files are equal.
    bool equal(std::size_t length) {
        std::vector<std::uint64_t> copy(length / sizeof(std::uint64_t));
        const int to = ::open(to_.c_str(), O_RDONLY);
        const bool complete = ::read(to, copy.data(), length) == static_cast<ssize_t>(length);
        ::close(to);
        return complete && std::ranges::equal(copy, std::span(noise_).first(copy.size()));
    }
    const std::string& from() const { return from_; }
    const std::string& to() const { return to_; }

private:
    static void write_all(int file, const std::vector<std::uint64_t>& words) {
        const std::span<const std::byte> bytes = std::as_bytes(std::span(words));
        if (::write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
            throw std::system_error(errno, std::system_category(), "write");
        }
    }

    std::string from_ = "uring_bench.from." + std::to_string(::getpid());
    std::string to_ = "uring_bench.to." + std::to_string(::getpid());
    std::vector<std::uint64_t> noise_ = std::vector<std::uint64_t>(size / sizeof(std::uint64_t));
};

/// range(0): the size of a buffer; range(1): whether to bypass the page cache.
template <class Way>
void copy(benchmark::State& state) {
    static files data;
    const int direct = state.range(1) != 0 ? O_DIRECT : 0;
    for ([[maybe_unused]] auto _ : state) {
        uring::buffer_pool pool(2, static_cast<std::size_t>(state.range(0)));
        data.reset();
        const uring::descriptor from(::open(data.from().c_str(), O_RDONLY | direct));
        const uring::descriptor to(::open(data.to().c_str(), O_WRONLY | direct));
        if (!from || !to) {
            state.SkipWithError("the file system does not support O_DIRECT");
            break;
        }
        // 2,048 buffers are enough for small buffers.
        const std::size_t size = std::min(files::size, 2'048 * pool.buffer_size());
        const auto elapsed = copy_by<Way>(pool, {from.get(), to.get(), size});
        if (!data.equal(size)) {
            fail(state, "the copy differs from its source");
        }
        const double seconds = std::chrono::duration<double>(elapsed).count();
        state.SetIterationTime(seconds);
        state.counters["GB/s"] = static_cast<double>(size) / seconds / 1e9;
    }
}

void sizes(benchmark::internal::Benchmark* benchmark) {
    benchmark->ArgNames({"buffer", "direct"})
        ->ArgsProduct({{4 << 10, 64 << 10, 256 << 10, 1 << 20}, {0, 1}})
        ->Apply(one_sample)
        ->Unit(benchmark::kMillisecond);
}
BENCHMARK(copy<by_exchange>)->Apply(sizes);
BENCHMARK(copy<by_spsc_queues>)->Apply(sizes);
BENCHMARK(copy<by_mutex>)->Apply(sizes);
BENCHMARK(copy<one_ring>)->Apply(sizes);

} // namespace
} // namespace tryst::bench
