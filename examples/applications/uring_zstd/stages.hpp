// SPDX-License-Identifier: MIT
/// @file
/// The stages: coroutines that swap full buffers for empty ones with their neighbours.
///
/// At each step a stage owns one buffer, and waits in the exchanger of the next lane. It does not
/// depend on which loops its neighbours run. A stage ends when its lanes have ended, or with an
/// exception. A stop request makes exchanges and operations fail, so it causes an exception, too.
#pragma once

#include "block.hpp"
#include "compressor.hpp"
#include "decompressor.hpp"
#include "files.hpp"
#include "output.hpp"
#include "sha256.hpp"

#include <tryst/task.hpp>
#include <tryst/uring/buffer_pool.hpp>
#include <tryst/uring/context.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stop_token>

namespace uring_zstd {

/// The state that all stages share.
struct pipeline_state {
    tryst::uring::buffer_pool& pool;
    std::stop_token stop;
    std::atomic<std::uint64_t> bytes_in{0};
    std::atomic<std::uint64_t> bytes_out{0};

    /// The pool has one block for each lane of either file, and two for the computing stage.
    block new_block() const { return {.memory = pool.acquire()}; }
};

/// The blocks that a coroutine transfers: `first`, `first + step`, `first + 2 * step` and so on. A
/// file has one coroutine per lane, and they run concurrently. A stream has a single position, so
/// it has a single coroutine, which goes from lane to lane.
struct share {
    std::size_t first;
    std::size_t step;
};

tryst::task<> read_blocks(tryst::uring::context& loop, pipeline_state& state, const input& from,
                          lanes& to, share mine);
tryst::task<> write_blocks(tryst::uring::context& loop, pipeline_state& state, lanes& from,
                           const output& to, share mine);

/// The computing stages: one coroutine for all lanes, which takes the blocks in order.
tryst::task<> compress_blocks(tryst::uring::context& loop, pipeline_state& state, lanes& from,
                              lanes& to, compressor& frame);
/// @param to  null to only count the bytes.
tryst::task<> decompress_blocks(tryst::uring::context& loop, pipeline_state& state, lanes& from,
                                lanes* to, decompressor& frames);
tryst::task<> hash_blocks(tryst::uring::context& loop, pipeline_state& state, lanes& from,
                          sha256& digest);

} // namespace uring_zstd
