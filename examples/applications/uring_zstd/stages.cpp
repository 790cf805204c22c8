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

/// A pipe or a terminal that somebody has set to O_NONBLOCK.
template <class T>
bool would_block(const uring::result<T>& got) noexcept {
    return got.error() == std::errc::resource_unavailable_try_again;
}

std::uint64_t place_of(const file& which, std::uint64_t offset) noexcept {
    return which.is_stream() ? uring::current_position : offset;
}

/// Fills a block, or what of it there is before the end.
tryst::task<> fill(uring::context& home, const input& from, block& into, std::stop_token stop) {
    std::size_t wanted = into.capacity();
    if (const auto total = from.size()) {
        wanted = static_cast<std::size_t>(
            std::min<std::uint64_t>(wanted, *total - std::min(*total, into.offset)));
    }
    into.size = 0;
    while (into.size != wanted) { // transfers may be short, and of pipes most are
        const auto room = into.room().first(from.transfer_size(wanted - into.size));
        const auto got = co_await home.read_fixed(from.descriptor(), into.memory, room,
                                                  place_of(from, into.offset + into.size), stop);
        if (would_block(got)) {
            std::ignore = co_await home.poll(from.descriptor(), POLLIN, stop);
            continue;
        }
        if (!got) {
            throw file_error(from.name(), "read", got.error());
        }
        into.size = std::min(into.size + *got, wanted); // the last sector may hold more by now
        // Of a part of a sector, too, after which O_DIRECT could not go on.
        const bool at_end = *got == 0 || from.transfer_size(into.size) != into.size;
        if (at_end && from.size() && into.size != wanted) {
            throw file_error(from.name(), "read", "it has shrunk meanwhile");
        }
        if (at_end) {
            break;
        }
    }
}

/// Writes a block, all of it.
tryst::task<> drain(uring::context& home, const block& from, const output& to,
                    std::stop_token stop) {
    const std::size_t wanted = to.transfer_size(from.size);
    // The padding is cut off in the end, but until then it must not hold another file's secrets.
    std::ranges::fill(from.room().first(wanted - from.size), std::byte{});
    for (std::size_t done = 0; done != wanted;) {
        const auto rest = from.memory.bytes().first(wanted).subspan(done);
        const auto got = co_await home.write_fixed(to.descriptor(), from.memory, rest,
                                                   place_of(to, from.offset + done), stop);
        if (would_block(got)) {
            std::ignore = co_await home.poll(to.descriptor(), POLLOUT, stop);
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

/// Swaps a block for an empty one, whose bytes will follow it in the file.
tryst::task<> pass_on(block& made, lanes::lane& to, std::stop_token stop) {
    const std::uint64_t end = made.offset + made.size;
    auto empty = co_await to.exchange(std::move(made), std::move(stop));
    made = std::move(empty).value();
    made.size = 0;
    made.offset = end;
}

/// Tells the next stage that every lane has ended. `made` is empty.
tryst::task<> end_lanes(block& made, lanes& to, std::size_t next_made, std::stop_token stop) {
    for (std::size_t i = 0; i != to.count(); ++i) {
        co_await pass_on(made, to.of(next_made + i), stop);
    }
}

} // namespace

tryst::task<> read_blocks(uring::context& home, work& all, const input& from, lanes& to,
                          share mine) {
    block full = all.new_block();
    bool at_end = false;
    std::size_t open_lanes = to.count() / mine.step;
    for (std::size_t k = mine.first; open_lanes != 0; k += mine.step) {
        full.offset = std::uint64_t{k} * full.capacity();
        full.size = 0;
        if (!at_end) {
            co_await fill(home, from, full, all.stop);
            at_end = !full.is_full();
        }
        if (full.size == 0) {
            --open_lanes; // an empty block tells the next stage so
        }
        all.bytes_in.fetch_add(full.size, std::memory_order_relaxed);
        auto empty = co_await to.of(k).exchange(std::move(full), all.stop);
        full = std::move(empty).value();
    }
}

tryst::task<> write_blocks(uring::context& home, work& all, lanes& from, const output& to,
                           share mine) {
    block empty = all.new_block();
    std::size_t open_lanes = from.count() / mine.step;
    for (std::size_t k = mine.first; open_lanes != 0; k += mine.step) {
        auto full = co_await from.of(k).exchange(std::move(empty), all.stop);
        empty = std::move(full).value();
        if (empty.size == 0) {
            --open_lanes;
            continue;
        }
        co_await drain(home, empty, to, all.stop);
        all.bytes_out.fetch_add(empty.size, std::memory_order_relaxed);
    }
}

/// Computes on a loop's thread, or blocks it until workers have computed. In general a coroutine
/// must not: nothing else on the loop proceeds meanwhile. Here nothing else is on it (except with
/// --loops 1). After every piece of 128 KiB this coroutine gives way, so a stop, or a neighbour on
/// the same loop, waits no longer than for one piece.
tryst::task<> compress_blocks(uring::context& home, work& all, lanes& from, lanes& to,
                              compressor& frame) {
    block source = all.new_block();
    block made = all.new_block();
    std::size_t next_made = 0;

    std::size_t open_lanes = from.count();
    for (std::size_t k = 0; open_lanes != 0; ++k) {
        auto full = co_await from.of(k).exchange(std::move(source), all.stop);
        source = std::move(full).value();
        if (source.size == 0) {
            --open_lanes;
            continue;
        }
        for (auto rest = source.bytes(); !rest.empty();) {
            const auto piece = rest.first(std::min(rest.size(), compressor::piece_size()));
            rest = rest.subspan(piece.size() - frame.add(piece, made).size());
            if (made.is_full()) {
                co_await pass_on(made, to.of(next_made++), all.stop);
            }
            (co_await home.nop(all.stop)).value();
        }
    }
    for (bool complete = false; !complete;) {
        complete = frame.finish(made);
        co_await pass_on(made, to.of(next_made++), all.stop);
    }
    co_await end_lanes(made, to, next_made, all.stop);
}

/// Gives way as often as compress_blocks: whenever it has filled a block or used one up.
tryst::task<> decompress_blocks(uring::context& home, work& all, lanes& from, lanes* to,
                                decompressor& frames) {
    block source = all.new_block();
    block made = all.new_block();
    std::size_t next_made = 0;

    std::size_t open_lanes = from.count();
    for (std::size_t k = 0; open_lanes != 0; ++k) {
        auto full = co_await from.of(k).exchange(std::move(source), all.stop);
        source = std::move(full).value();
        if (source.size == 0) {
            --open_lanes;
            continue;
        }
        auto rest = source.bytes();
        while (!rest.empty() || frames.has_more()) {
            rest = frames.add(rest, made);
            if (to == nullptr) {
                all.bytes_out.fetch_add(made.size, std::memory_order_relaxed);
                made.size = 0;
            } else if (made.is_full()) {
                co_await pass_on(made, to->of(next_made++), all.stop);
            }
            (co_await home.nop(all.stop)).value();
        }
    }
    frames.finish();
    if (to != nullptr) {
        if (made.size != 0) {
            co_await pass_on(made, to->of(next_made++), all.stop);
        }
        co_await end_lanes(made, *to, next_made, all.stop);
    }
}

tryst::task<> hash_blocks(uring::context& home, work& all, lanes& from, sha256& digest) {
    block source = all.new_block();
    std::size_t open_lanes = from.count();
    for (std::size_t k = 0; open_lanes != 0; ++k) {
        auto full = co_await from.of(k).exchange(std::move(source), all.stop);
        source = std::move(full).value();
        if (source.size == 0) {
            --open_lanes;
            continue;
        }
        digest.add(source.bytes());
        (co_await home.nop(all.stop)).value();
    }
}

} // namespace uring_zstd
