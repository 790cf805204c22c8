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

/// Runs a stage, or one lane of it, and reports its exception. @throws nothing.
tryst::task<> guarded(tryst::task<> stage, failure& first) {
    try {
        co_await std::move(stage);
    } catch (...) {
        first.report(std::current_exception());
    }
}

/// A loop and its stages. The loop stops when all its stages have ended.
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
    static tryst::task<> run_stages(uring::context& loop, std::vector<tryst::task<>> stages,
                                    failure& first) {
        co_await guarded(tryst::when_all(std::move(stages)), first);
        loop.stop();
    }

    uring::context context_{{.entries = 64}}; // enough for all lanes
    std::vector<tryst::task<>> stages_; // must be destroyed before the context
};

/// The index of the loop on which each stage runs.
struct placement {
    explicit placement(const options& chosen)
        : computing(chosen.loops > 1 ? 1 : 0), writing(chosen.loops > 2 ? 2 : 0) {
        if (chosen.what == action::copy) { // no computing stage
            writing = computing = writing != 0 ? 1 : 0;
        } else if (!chosen.writes()) {
            writing = computing;
        }
    }

    static constexpr std::size_t reading = 0;
    std::size_t computing;
    std::size_t writing; ///< The last stage, even if it writes nothing.

    std::size_t loops() const noexcept { return std::max(computing, writing) + 1; }
};

tryst::task<> watch_signals(uring::context& loop, const termination_signals& signals,
                            failure& first) {
    const auto ready = co_await loop.poll(signals.descriptor(), POLLIN);
    if (ready) {
        first.report(std::make_exception_ptr(interrupted()));
    }
}

tryst::task<> show_progress(uring::context& loop, const pipeline_state& state,
                            std::optional<std::uint64_t> total) {
    progress_line line(total);
    while (co_await loop.timeout(std::chrono::milliseconds(100))) {
        line.show(state.bytes_in.load(std::memory_order_relaxed),
                  state.bytes_out.load(std::memory_order_relaxed));
    }
}

/// The shares of the coroutines that read or write the file.
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
                     const termination_signals& signals) {
    failure first;
    uring::buffer_pool pool(2 * chosen.lanes + 2, chosen.buffer_size);
    pipeline_state state{.pool = pool, .stop = first.stop()};
    lanes input_lanes(chosen.lanes);
    lanes output_lanes(chosen.lanes);
    std::optional<compressor> frame;
    std::optional<decompressor> frames;
    std::optional<sha256> digest;

    const placement place(chosen);
    std::deque<stage_loop> loops(place.loops());
    const auto add = [&](std::size_t loop, auto stage, auto&&... arguments) {
        loops[loop].add(stage(loops[loop].context(), state, arguments...), first);
    };

    for (const share each : shares_of(from, chosen.lanes)) {
        add(place.reading, read_blocks, from, input_lanes, each);
    }
    lanes* last = &input_lanes;
    if (chosen.what == action::compress) {
        frame.emplace(from.name(), chosen.level, chosen.worker_count(), from.size());
        add(place.computing, compress_blocks, input_lanes, output_lanes, *frame);
        last = &output_lanes;
    } else if (chosen.what == action::hash) {
        digest.emplace();
        add(place.computing, hash_blocks, input_lanes, *digest);
    } else if (chosen.what != action::copy) {
        frames.emplace(from.name());
        add(place.computing, decompress_blocks, input_lanes,
            to != nullptr ? &output_lanes : nullptr, *frames);
        last = &output_lanes;
    }
    if (to != nullptr) {
        for (const share each : shares_of(*to, chosen.lanes)) {
            add(place.writing, write_blocks, *last, *to, each);
        }
    }

    // Registered buffers are faster. Unregistered buffers also work, so errors are ignored: the
    // kernel limits the memory that may be locked.
    std::ignore = loops[place.reading].context().register_buffers(pool);
    if (to != nullptr && place.writing != place.reading) {
        std::ignore = loops[place.writing].context().register_buffers(pool);
    }

    // These tasks end with the loop of the last stage, which is the last loop to stop.
    stage_loop& ours = loops[place.writing];
    ours.context().spawn(watch_signals(ours.context(), signals, first));
    if (!chosen.quiet && ::isatty(STDERR_FILENO) == 1) {
        ours.context().spawn(show_progress(ours.context(), state, from.size()));
    }

    std::vector<std::jthread> threads;
    threads.reserve(loops.size());
    try {
        for (stage_loop& each : loops) {
            if (&each != &ours) {
                threads.emplace_back([&each, &first] { each.run(first); });
            }
        }
    } catch (const std::system_error& why) { // the report stops the threads that run already
        first.report(
            std::make_exception_ptr(std::system_error(why.code(), "cannot start a thread")));
    }
    ours.run(first);
    threads.clear(); // joins them
    loops.clear(); // erases the progress line
    // Also check for signals that came too late for `watch_signals`, or after a failure.
    if (signals.take()) {
        throw interrupted();
    }
    first.rethrow();
    return {.bytes_in = state.bytes_in,
            .bytes_out = state.bytes_out,
            .digest = digest ? digest->finish() : std::string()};
}

} // namespace uring_zstd
