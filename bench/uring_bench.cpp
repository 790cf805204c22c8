// SPDX-License-Identifier: MIT
// Contexts over io_uring: how long it takes to get from one to another, and a file copied in two stages, each on
// its own context, that pass two buffers to and fro in several ways.
#include "support.hpp"

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
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <system_error>

namespace tryst::bench {
namespace {

constexpr uring::context_options spinning{};
constexpr uring::context_options sleeping{.max_spins = 0};

/// Runs each context on its thread, pinned, until `over` returns; then calls `close` and lets them finish.
template <class Over, class Close>
steady::duration run_contexts(std::span<uring::context* const> contexts, Over over, Close close) {
    std::barrier step(static_cast<std::ptrdiff_t>(contexts.size()) + 1);
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i != contexts.size(); ++i) {
        threads.push_back(pinned_thread(i, [&step, context = contexts[i]] {
            step.arrive_and_wait();
            context->run();
            step.arrive_and_wait();
            step.arrive_and_wait();
            context->run_until_idle();
        }));
    }
    step.arrive_and_wait();
    const auto begin = steady::now();
    over();
    step.arrive_and_wait();
    const auto elapsed = steady::now() - begin;
    close();
    step.arrive_and_wait();
    return elapsed;
}

/// The same for one sample's time.
template <class Close>
steady::duration run_for_a_while(std::span<uring::context* const> contexts, Close close) {
    const auto over = [&] {
        std::this_thread::sleep_for(sample_time);
        for (uring::context* each : contexts) {
            each->stop();
        }
    };
    return run_contexts(contexts, over, close);
}

// ---- From one context to another.

task<> exchange_for_ever(exchanger<std::int64_t>& ex, std::int64_t id, tally& mine) {
    while (auto got = co_await ex.exchange(id)) {
        mine.success(id, *got);
    }
}

void exchange_between(benchmark::State& state, uring::context_options options) {
    const auto count = static_cast<std::size_t>(state.range(0));
    for ([[maybe_unused]] auto _ : state) {
        exchanger<std::int64_t> ex;
        std::vector<tally> tallies(2 * count);
        uring::context first(options);
        uring::context second(options);
        for (std::size_t i = 0; i != 2 * count; ++i) {
            (i < count ? first : second)
                .spawn(exchange_for_ever(ex, static_cast<std::int64_t>(i), tallies[i]));
        }
        const auto elapsed = run_for_a_while(std::array{&first, &second}, [&] { ex.close(); });
        report(state, tallies, elapsed);
    }
}

void two_contexts(benchmark::State& state) {
    exchange_between(state, spinning);
}
BENCHMARK(two_contexts)
    ->ArgName("coroutines")
    ->Arg(1)
    ->Arg(16)
    ->Arg(1'000)
    ->UseManualTime()
    ->Iterations(1);

void two_sleeping_contexts(benchmark::State& state) {
    exchange_between(state, sleeping);
}
BENCHMARK(two_sleeping_contexts)->ArgName("coroutines")->Arg(1)->UseManualTime()->Iterations(1);

/// A coroutine that goes to and fro; the time is that of one way.
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
        const auto elapsed = run_contexts(std::array{&first, &second}, end, [] {});
        state.SetIterationTime(std::chrono::duration<double>(elapsed).count() /
                               static_cast<double>(hops));
    }
}

void hop_awake(benchmark::State& state) {
    hop_between(state, spinning);
}
BENCHMARK(hop_awake)->UseManualTime()->Iterations(1);

void hop_asleep(benchmark::State& state) {
    hop_between(state, sleeping);
}
BENCHMARK(hop_asleep)->UseManualTime()->Iterations(1);

/// The yardstick of the latter: two threads with a ring each, set up as a context's is, that call each other by
/// bare means and sleep in the kernel between. Prints the time of one way.
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
        state.SetIterationTime(std::chrono::duration<double>(elapsed).count() /
                               static_cast<double>(calls[0] + calls[1]));
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
BENCHMARK(bare_msg_ring)->UseManualTime()->Iterations(1);

void bare_eventfd(benchmark::State& state) {
    wake_bare_rings(state, by_eventfd{});
}
BENCHMARK(bare_eventfd)->UseManualTime()->Iterations(1);

// ---- A file copied in two stages.

/// What passes between the stages, full or empty; an empty one for a full one means the end.
struct chunk {
    uring::buffer memory;
    std::size_t length = 0;
};

/// Full for empty in one step. The writer begins with the second buffer.
class by_exchange {
public:
    task<chunk> give_full(chunk full) { co_return *co_await meeting_.exchange(std::move(full)); }
    task<chunk> give_empty(chunk empty) { co_return *co_await meeting_.exchange(std::move(empty)); }

private:
    exchanger<chunk> meeting_;
};

/// A coroutine that waits for a queue.
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

/// A queue of one producer and one consumer (Boost's), with a place for the coroutine that finds it empty.
class spsc_channel {
public:
    void push(chunk&& item) {
        items_.push(new chunk(std::move(item)));
        // Both sides write, then read: sequentially consistent, so that one sees the other.
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
                // If an item has come meanwhile, who takes the place back goes on.
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

/// A queue under a mutex.
class mutex_channel {
public:
    void push(chunk&& item) {
        queue_waiter* waiter = nullptr;
        {
            const std::scoped_lock lock(mutex_);
            items_.push_back(std::move(item));
            waiter = std::exchange(waiter_, nullptr);
        }
        if (waiter != nullptr) {
            waiter->wake();
        }
    }

    auto pop() {
        struct awaiter : queue_waiter {
            explicit awaiter(mutex_channel& from) : channel(from) {}
            bool await_ready() const { return false; }
            bool await_suspend(std::coroutine_handle<> waiting) {
                suspend(waiting);
                const std::scoped_lock lock(channel.mutex_);
                if (!channel.items_.empty()) {
                    return false;
                }
                channel.waiter_ = this;
                return true;
            }
            chunk await_resume() const {
                const std::scoped_lock lock(channel.mutex_);
                chunk first = std::move(channel.items_.front());
                channel.items_.pop_front();
                return first;
            }
            mutex_channel& channel;
        };
        return awaiter(*this);
    }

private:
    std::mutex mutex_;
    std::deque<chunk> items_;
    queue_waiter* waiter_ = nullptr;
};

/// A queue for the full ones and a queue for the empty ones.
template <class Channel>
class by_queues {
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
    Channel full_;
    Channel empty_;
};

using by_spsc_queues = by_queues<spsc_channel>;
using by_mutex_channels = by_queues<mutex_channel>;

struct file_pair {
    int from;
    int to;
    std::size_t size;
};

template <class Way>
task<> read_stage(uring::context& home, uring::buffer memory, file_pair files, Way& way) {
    chunk mine{std::move(memory)};
    for (std::size_t offset = 0; offset < files.size; offset += mine.memory.size()) {
        mine.length =
            *co_await home.read_fixed(files.from, mine.memory, mine.memory.bytes(), offset);
        mine = co_await way.give_full(std::move(mine));
    }
    mine.length = 0;
    mine = co_await way.give_full(std::move(mine));
    home.stop();
}

template <class Way>
task<> write_stage(uring::context& home, uring::buffer memory, file_pair files, Way& way) {
    chunk mine{std::move(memory)};
    std::size_t offset = 0;
    while (true) {
        mine = co_await way.give_empty(std::move(mine));
        if (mine.length == 0) {
            break;
        }
        offset += *co_await home.write_fixed(files.to, mine.memory,
                                             mine.memory.bytes().first(mine.length), offset);
    }
    home.stop();
}

/// One of two lanes of a single ring: reads and writes every other block.
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
    return run_contexts(std::array{&reader, &writer}, [] {}, [] {});
}

struct one_ring {};

template <>
steady::duration copy_by<one_ring>(uring::buffer_pool& pool, file_pair files) {
    uring::context both;
    static_cast<void>(both.register_buffers(pool));
    int running = 2;
    both.spawn(lane(both, pool.acquire(), files, 0, running));
    both.spawn(lane(both, pool.acquire(), files, 1, running));
    return run_contexts(std::array{&both}, [] {}, [] {});
}

/// Two files of the current directory, one full of noise.
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

    /// Fills the other with zeros, so that every sample starts alike and nothing is right by chance.
    void reset() {
        const int to = ::open(to_.c_str(), O_CREAT | O_WRONLY, 0600);
        write_all(to, std::vector<std::uint64_t>(noise_.size()));
        ::fsync(to); // its writing back shall not disturb the sample
        ::close(to);
    }
    /// Whether the first `length` bytes are the same.
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

/// range(0): the size of a buffer; range(1): whether past the page cache.
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
            state.SkipWithError("the file system has no O_DIRECT");
            break;
        }
        // No more than 2,048 buffers, which is enough.
        const std::size_t size = std::min(files::size, 2'048 * pool.buffer_size());
        const auto elapsed = copy_by<Way>(pool, {from.get(), to.get(), size});
        if (!data.equal(size)) {
            state.SkipWithError("the copy is not what was read");
        }
        const double seconds = std::chrono::duration<double>(elapsed).count();
        state.SetIterationTime(seconds);
        state.counters["GB/s"] = static_cast<double>(size) / seconds / 1e9;
    }
}

void sizes(benchmark::internal::Benchmark* benchmark) {
    benchmark->ArgNames({"buffer", "direct"})
        ->ArgsProduct({{4 << 10, 64 << 10, 256 << 10, 1 << 20}, {0, 1}})
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
}
BENCHMARK(copy<by_exchange>)->Apply(sizes);
BENCHMARK(copy<by_spsc_queues>)->Apply(sizes);
BENCHMARK(copy<by_mutex_channels>)->Apply(sizes);
BENCHMARK(copy<one_ring>)->Apply(sizes);

} // namespace
} // namespace tryst::bench
