// SPDX-License-Identifier: MIT
/// @file
/// The stages: coroutines that swap full buffers for empty ones with their neighbours.
///
/// A stage begins each step with one buffer of its own, and waits in the exchanger of the lane
/// whose turn it is. None of them knows on which loop its neighbours are. Stages end when their
/// lanes have ended, or by an exception: also after a stop, which makes exchanges and operations
/// fail.
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

/// What all stages share.
struct work {
    tryst::uring::buffer_pool& pool;
    std::stop_token stop;
    std::atomic<std::uint64_t> bytes_in{0};
    std::atomic<std::uint64_t> bytes_out{0};

    /// There is one for each lane of either file, and two for the stage between.
    block new_block() const { return {.memory = pool.acquire()}; }
};

/// Which blocks a coroutine takes care of: the first-th, and every step-th from there. A file has
/// one coroutine for each lane, and they work at once. A stream has one position, hence one
/// coroutine, that goes from lane to lane.
struct share {
    std::size_t first;
    std::size_t step;
};

tryst::task<> read_blocks(tryst::uring::context& home, work& all, const input& from, lanes& to,
                          share mine);
tryst::task<> write_blocks(tryst::uring::context& home, work& all, lanes& from, const output& to,
                           share mine);

/// Between the two, in the order of the blocks: one coroutine for all lanes.
tryst::task<> compress_blocks(tryst::uring::context& home, work& all, lanes& from, lanes& to,
                              compressor& frame);
/// @param to  null to count the bytes only.
tryst::task<> decompress_blocks(tryst::uring::context& home, work& all, lanes& from, lanes* to,
                                decompressor& frames);
tryst::task<> hash_blocks(tryst::uring::context& home, work& all, lanes& from, sha256& digest);

} // namespace uring_zstd
