// SPDX-License-Identifier: MIT
#include "stages.hpp"

#include "failure.hpp"

#include <algorithm>
#include <system_error>
#include <tuple>
#include <utility>

#include <poll.h>

namespace uring_zstd {

namespace {

namespace uring = tryst::uring;

/// Whether the operation failed because another process made a pipe or terminal non-blocking.
template <class T>
bool would_block(const uring::result<T>& got) noexcept {
    return got.error() == std::errc::resource_unavailable_try_again;
}

std::uint64_t offset_for(const file& which, std::uint64_t offset) noexcept {
    return which.is_stream() ? uring::current_position : offset;
}

/// Fills a block, or a part of it if the input ends.
tryst::task<> fill(uring::context& loop, const input& from, block& into, std::stop_token stop) {
    std::size_t wanted = into.capacity();
    if (const auto total = from.size()) {
        wanted = static_cast<std::size_t>(
            std::min<std::uint64_t>(wanted, *total - std::min(*total, into.offset)));
    }
    into.size = 0;
    while (into.size != wanted) { // transfers may be short, especially from pipes
        const auto room = into.room().first(from.transfer_size(wanted - into.size));
        const auto got = co_await loop.read_fixed(from.descriptor(), into.memory, room,
                                                  offset_for(from, into.offset + into.size), stop);
        if (would_block(got)) {
            std::ignore = co_await loop.poll(from.descriptor(), POLLIN, stop);
            continue;
        }
        if (!got) {
            throw file_error(from.name(), "read", got.error());
        }
        into.size =
            std::min(into.size + *got, wanted); // the file may have grown in its last sector
        // With O_DIRECT, a partial sector also means the end: reading cannot continue inside it.
        const bool at_end = *got == 0 || from.transfer_size(into.size) != into.size;
        if (at_end && from.size() && into.size != wanted) {
            throw file_error(from.name(), "read", "the file became shorter; run again");
        }
        if (at_end) {
            break;
        }
    }
}

/// Writes a whole block.
tryst::task<> drain(uring::context& loop, const block& from, const output& to,
                    std::stop_token stop) {
    const std::size_t wanted = to.transfer_size(from.size);
    // Clear the padding, because the buffer may contain data of another file. The padding is
    // removed when the file is complete.
    std::ranges::fill(from.room().first(wanted - from.size), std::byte{});
    for (std::size_t done = 0; done != wanted;) {
        const auto rest = from.memory.bytes().first(wanted).subspan(done);
        const auto got = co_await loop.write_fixed(to.descriptor(), from.memory, rest,
                                                   offset_for(to, from.offset + done), stop);
        if (would_block(got)) {
            std::ignore = co_await loop.poll(to.descriptor(), POLLOUT, stop);
        } else if (!got) {
            if (to.is_stream()) {
                throw stream_error(to.name(), "write", got.error());
            }
            throw file_error(to.name(), "write", got.error());
        } else {
            done += *got;
        }
    }
}

/// Swaps a block for an empty one, and sets the offset of the empty block to the end of the first.
tryst::task<> send_block(block& result, lanes::lane& to, std::stop_token stop) {
    const std::uint64_t end = result.offset + result.size;
    auto empty = co_await to.exchange(std::move(result), std::move(stop));
    result = std::move(empty).value();
    result.size = 0;
    result.offset = end;
}

/// Marks the end of every lane. Precondition: `result` is empty.
tryst::task<> end_lanes(block& result, lanes& to, std::size_t next_result, std::stop_token stop) {
    for (std::size_t i = 0; i != to.count(); ++i) {
        co_await send_block(result, to.of(next_result + i), stop);
    }
}

} // namespace

tryst::task<> read_blocks(uring::context& loop, pipeline_state& state, const input& from, lanes& to,
                          share mine) {
    block full = state.new_block();
    bool at_end = false;
    std::size_t open_lanes = to.count() / mine.step;
    for (std::size_t k = mine.first; open_lanes != 0; k += mine.step) {
        full.offset = std::uint64_t{k} * full.capacity();
        full.size = 0;
        if (!at_end) {
            co_await fill(loop, from, full, state.stop);
            at_end = !full.is_full();
        }
        if (full.size == 0) {
            --open_lanes; // the empty block tells the next stage
        }
        state.bytes_in.fetch_add(full.size, std::memory_order_relaxed);
        auto empty = co_await to.of(k).exchange(std::move(full), state.stop);
        full = std::move(empty).value();
    }
}

tryst::task<> write_blocks(uring::context& loop, pipeline_state& state, lanes& from,
                           const output& to, share mine) {
    block empty = state.new_block();
    std::size_t open_lanes = from.count() / mine.step;
    for (std::size_t k = mine.first; open_lanes != 0; k += mine.step) {
        auto full = co_await from.of(k).exchange(std::move(empty), state.stop);
        empty = std::move(full).value();
        if (empty.size == 0) {
            --open_lanes;
            continue;
        }
        co_await drain(loop, empty, to, state.stop);
        state.bytes_out.fetch_add(empty.size, std::memory_order_relaxed);
    }
}

/// Computes on the thread of the loop, or blocks it while workers compute. In general a coroutine
/// must not block its loop. Here the loop has no other work, except with --loops 1. After every
/// piece of 128 KiB the coroutine yields, so that stops and other stages on the loop wait for at
/// most one piece.
tryst::task<> compress_blocks(uring::context& loop, pipeline_state& state, lanes& from, lanes& to,
                              compressor& frame) {
    block source = state.new_block();
    block result = state.new_block();
    std::size_t next_result = 0;

    std::size_t open_lanes = from.count();
    for (std::size_t k = 0; open_lanes != 0; ++k) {
        auto full = co_await from.of(k).exchange(std::move(source), state.stop);
        source = std::move(full).value();
        if (source.size == 0) {
            --open_lanes;
            continue;
        }
        for (auto rest = source.bytes(); !rest.empty();) {
            const auto piece = rest.first(std::min(rest.size(), compressor::piece_size()));
            rest = rest.subspan(piece.size() - frame.add(piece, result).size());
            if (result.is_full()) {
                co_await send_block(result, to.of(next_result++), state.stop);
            }
            (co_await loop.nop(state.stop)).value();
        }
    }
    for (bool complete = false; !complete;) {
        complete = frame.finish(result);
        co_await send_block(result, to.of(next_result++), state.stop);
    }
    co_await end_lanes(result, to, next_result, state.stop);
}

/// Blocks the loop like compress_blocks. Yields whenever it has filled or consumed a block.
tryst::task<> decompress_blocks(uring::context& loop, pipeline_state& state, lanes& from, lanes* to,
                                decompressor& frames) {
    block source = state.new_block();
    block result = state.new_block();
    std::size_t next_result = 0;

    std::size_t open_lanes = from.count();
    for (std::size_t k = 0; open_lanes != 0; ++k) {
        auto full = co_await from.of(k).exchange(std::move(source), state.stop);
        source = std::move(full).value();
        if (source.size == 0) {
            --open_lanes;
            continue;
        }
        auto rest = source.bytes();
        while (!rest.empty() || frames.has_more()) {
            rest = frames.add(rest, result);
            if (to == nullptr) {
                state.bytes_out.fetch_add(result.size, std::memory_order_relaxed);
                result.size = 0;
            } else if (result.is_full()) {
                co_await send_block(result, to->of(next_result++), state.stop);
            }
            (co_await loop.nop(state.stop)).value();
        }
    }
    frames.finish();
    if (to != nullptr) {
        if (result.size != 0) {
            co_await send_block(result, to->of(next_result++), state.stop);
        }
        co_await end_lanes(result, *to, next_result, state.stop);
    }
}

tryst::task<> hash_blocks(uring::context& loop, pipeline_state& state, lanes& from,
                          sha256& digest) {
    block source = state.new_block();
    std::size_t open_lanes = from.count();
    for (std::size_t k = 0; open_lanes != 0; ++k) {
        auto full = co_await from.of(k).exchange(std::move(source), state.stop);
        source = std::move(full).value();
        if (source.size == 0) {
            --open_lanes;
            continue;
        }
        digest.add(source.bytes());
        (co_await loop.nop(state.stop)).value();
    }
}

} // namespace uring_zstd
