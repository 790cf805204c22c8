// SPDX-License-Identifier: MIT
#include "pipeline.hpp"

#include "block.hpp"
#include "compressor.hpp"
#include "decompressor.hpp"
#include "failure.hpp"
#include "progress.hpp"
#include "sha256.hpp"
#include "stages.hpp"

#include <tryst/task.hpp>
#include <tryst/uring/buffer_pool.hpp>
#include <tryst/uring/context.hpp>
#include <tryst/when_all.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <poll.h>
#include <unistd.h>

namespace uring_zstd {

namespace {

namespace uring = tryst::uring;

/// One stage, or one lane of it. @throws nothing.
tryst::task<> guarded(tryst::task<> stage, failure& first) {
    try {
        co_await std::move(stage);
    } catch (...) {
        first.report(std::current_exception());
    }
}

/// A loop and the stages on it. The loop stops when they have ended.
class stage_loop {
public:
    uring::context& context() noexcept { return context_; }

    void add(tryst::task<> stage, failure& first) {
        stages_.push_back(guarded(std::move(stage), first));
    }

    void run(failure& first) noexcept {
        try {
            context_.spawn(run_stages(context_, std::move(stages_), first));
            context_.run();
        } catch (...) {
            first.report(std::current_exception());
        }
    }

private:
    static tryst::task<> run_stages(uring::context& home, std::vector<tryst::task<>> stages,
                                    failure& first) {
        co_await guarded(tryst::when_all(std::move(stages)), first);
        home.stop();
    }

    uring::context context_{{.entries = 64}}; // for the lanes, and little else
    std::vector<tryst::task<>> stages_; // destroyed first
};

/// On which loop each stage is.
struct placement {
    explicit placement(const options& chosen)
        : between(chosen.loops > 1 ? 1 : 0), writing(chosen.loops > 2 ? 2 : 0) {
        if (chosen.what == action::copy) { // nothing is between
            writing = between = writing != 0 ? 1 : 0;
        } else if (!chosen.writes()) {
            writing = between;
        }
    }

    static constexpr std::size_t reading = 0;
    std::size_t between;
    std::size_t writing; ///< Or whatever is last.

    std::size_t loops() const noexcept { return std::max(between, writing) + 1; }
};

tryst::task<> heed(uring::context& home, const ending_signals& signals, failure& first) {
    const auto ready = co_await home.poll(signals.descriptor(), POLLIN);
    if (ready) {
        first.report(std::make_exception_ptr(interrupted()));
    }
}

tryst::task<> show_progress(uring::context& home, const work& all,
                            std::optional<std::uint64_t> total) {
    progress_line line(total);
    while (co_await home.timeout(std::chrono::milliseconds(100))) {
        line.show(all.bytes_in.load(std::memory_order_relaxed),
                  all.bytes_out.load(std::memory_order_relaxed));
    }
}

/// The shares of a file's lanes.
std::vector<share> shares_of(const file& which, std::size_t lane_count) {
    const std::size_t count = which.is_stream() ? 1 : lane_count;
    std::vector<share> shares;
    for (std::size_t i = 0; i != count; ++i) {
        shares.push_back({.first = i, .step = count});
    }
    return shares;
}

} // namespace

outcome run_pipeline(const options& chosen, const input& from, const output* to,
                     const ending_signals& signals) {
    failure first;
    uring::buffer_pool pool(2 * chosen.lanes + 2, chosen.buffer_size);
    work all{.pool = pool, .stop = first.stop()};
    lanes read(chosen.lanes);
    lanes made(chosen.lanes);
    std::optional<compressor> frame;
    std::optional<decompressor> frames;
    std::optional<sha256> digest;

    const placement place(chosen);
    std::deque<stage_loop> loops(place.loops());
    const auto add = [&](std::size_t loop, auto stage, auto&&... arguments) {
        loops[loop].add(stage(loops[loop].context(), all, arguments...), first);
    };

    for (const share each : shares_of(from, chosen.lanes)) {
        add(place.reading, read_blocks, from, read, each);
    }
    lanes* last = &read;
    if (chosen.what == action::compress) {
        frame.emplace(from.name(), chosen.level, chosen.worker_count(), from.size());
        add(place.between, compress_blocks, read, made, *frame);
        last = &made;
    } else if (chosen.what == action::hash) {
        digest.emplace();
        add(place.between, hash_blocks, read, *digest);
    } else if (chosen.what != action::copy) {
        frames.emplace(from.name());
        add(place.between, decompress_blocks, read, to != nullptr ? &made : nullptr, *frames);
        last = &made;
    }
    if (to != nullptr) {
        for (const share each : shares_of(*to, chosen.lanes)) {
            add(place.writing, write_blocks, *last, *to, each);
        }
    }

    // Both are faster with it, and do without if the kernel will not: it may limit how much memory
    // is locked.
    std::ignore = loops[place.reading].context().register_buffers(pool);
    if (to != nullptr && place.writing != place.reading) {
        std::ignore = loops[place.writing].context().register_buffers(pool);
    }

    // These end with the loop of the last stage, and that is the end of it all.
    stage_loop& ours = loops[place.writing];
    ours.context().spawn(heed(ours.context(), signals, first));
    if (!chosen.quiet && ::isatty(STDERR_FILENO) == 1) {
        ours.context().spawn(show_progress(ours.context(), all, from.size()));
    }

    std::vector<std::jthread> threads;
    threads.reserve(loops.size());
    try {
        for (stage_loop& each : loops) {
            if (&each != &ours) {
                threads.emplace_back([&each, &first] { each.run(first); });
            }
        }
    } catch (const std::system_error& why) { // no more threads: those that run have to stop
        first.report(
            std::make_exception_ptr(std::system_error(why.code(), "cannot start a thread")));
    }
    ours.run(first);
    threads.clear(); // joins them
    loops.clear(); // erases the progress
    // Also the signals that came too late for `heed`, or after a failure.
    if (signals.take()) {
        throw interrupted();
    }
    first.rethrow();
    return {.bytes_in = all.bytes_in,
            .bytes_out = all.bytes_out,
            .digest = digest ? digest->finish() : std::string()};
}

} // namespace uring_zstd
