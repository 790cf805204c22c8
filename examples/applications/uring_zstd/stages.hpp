// SPDX-License-Identifier: MIT
/// @file
/// The stages: one reads, one computes, one writes. Each is a coroutine on an io_uring loop and a
/// thread of its own, and swaps full buffers for empty ones with its neighbour.
#pragma once

#include "codec.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <poll.h>

namespace uring_zstd {

namespace uring = tryst::uring;

/// A piece of the file. In return a stage gets an empty block. One that is passed forward marks the
/// end.
struct block {
    std::vector<std::byte> memory = std::vector<std::byte>(std::size_t{256} * 1024);
    std::size_t size = 0;

    std::span<std::byte> bytes() noexcept { return std::span(memory).first(size); }
    std::span<std::byte> room() noexcept { return std::span(memory).subspan(size); }
};
using lane = tryst::exchanger<block>;

/// What the stages share. An error in one of them stops all.
class pipeline {
public:
    std::stop_token stop() const noexcept { return stop_.get_token(); }

    /// Keeps the first error. Later ones are consequences of the stop.
    void fail(std::exception_ptr why) noexcept {
        {
            const std::scoped_lock lock(mutex_);
            first_ = first_ ? first_ : std::move(why);
        }
        stop_.request_stop();
    }
    /// Precondition: all stages have ended.
    void rethrow() const {
        if (first_) {
            std::rethrow_exception(first_);
        }
    }

    lane to_compute{1}; // one slot is enough for two parties
    lane to_write{1};
    std::atomic<std::uint64_t> bytes_in = 0;
    std::atomic<std::uint64_t> bytes_out = 0;

private:
    std::mutex mutex_;
    std::exception_ptr first_;
    std::stop_source stop_;
};

/// @throws if the pipeline was stopped.
inline tryst::task<> swap_blocks(lane& with, block& mine, std::stop_token stop) {
    auto got = co_await with.exchange(std::move(mine), std::move(stop));
    mine = std::move(got).value();
}

/// Waits if an operation failed only because another process made a pipe non-blocking.
inline tryst::task<> wait_after(std::error_code failure, uring::context& loop, int file,
                                short event, const char* what, std::stop_token stop) {
    if (failure != std::errc::resource_unavailable_try_again) {
        throw std::system_error(failure, what);
    }
    (co_await loop.poll(file, event, std::move(stop))).value();
}

inline tryst::task<> read_all(uring::context& loop, pipeline& all, int file) {
    block mine;
    bool at_end = false;
    for (bool is_last = false; !is_last;) {
        while (!at_end && !mine.room().empty()) { // reads of pipes are short
            const auto got =
                co_await loop.read(file, mine.room(), uring::current_position, all.stop());
            if (!got) {
                co_await wait_after(got.error(), loop, file, POLLIN, "cannot read", all.stop());
                continue;
            }
            mine.size += *got;
            at_end = *got == 0;
        }
        all.bytes_in += mine.size;
        is_last = mine.size == 0;
        co_await swap_blocks(all.to_compute, mine, all.stop());
    }
}

/// Blocks its loop while it computes: the loop has no other work.
template <class Codec>
tryst::task<> compute_all(pipeline& all, Codec& codec) {
    block source;
    block result;
    for (bool at_end = false; !at_end;) {
        source.size = 0;
        co_await swap_blocks(all.to_compute, source, all.stop());
        at_end = source.size == 0;
        std::span<const std::byte> rest = source.bytes();
        for (bool is_complete = false; !is_complete;) {
            const step did = codec.run(rest, result.room(), at_end);
            rest = rest.subspan(did.taken);
            result.size += did.made;
            is_complete = did.is_complete;
            if (result.room().empty() || (at_end && is_complete && result.size != 0)) {
                co_await swap_blocks(all.to_write, result, all.stop());
            }
        }
    }
    co_await swap_blocks(all.to_write, result, all.stop());
}

inline tryst::task<> write_all(uring::context& loop, pipeline& all, int file, bool is_stream) {
    block mine;
    for (;;) {
        mine.size = 0;
        co_await swap_blocks(all.to_write, mine, all.stop());
        if (mine.size == 0) {
            co_return;
        }
        for (std::span<const std::byte> rest = mine.bytes(); !rest.empty();) {
            const std::uint64_t offset = is_stream ? uring::current_position : all.bytes_out.load();
            const auto got = co_await loop.write(file, rest, offset, all.stop());
            if (!got) {
                co_await wait_after(got.error(), loop, file, POLLOUT, "cannot write", all.stop());
                continue;
            }
            rest = rest.subspan(*got);
            all.bytes_out += *got;
        }
    }
}

/// Runs a stage to its end on a loop of this thread. @param make  begins it, on the loop.
template <class Make>
void run_stage(pipeline& all, Make make) noexcept {
    const auto guarded = [&](uring::context& loop) -> tryst::task<> {
        try {
            co_await make(loop);
        } catch (...) {
            all.fail(std::current_exception());
        }
        loop.stop();
    };
    try {
        uring::context loop({.entries = 8});
        loop.spawn(guarded(loop));
        loop.run();
    } catch (...) {
        all.fail(std::current_exception());
    }
}

} // namespace uring_zstd
