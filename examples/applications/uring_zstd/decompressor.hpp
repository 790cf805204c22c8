// SPDX-License-Identifier: MIT
/// @file
/// Zstandard frames, read piece by piece by the calling thread.
/// libzstd.
#pragma once

#include "block.hpp"
#include "failure.hpp"

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

#include <zstd.h>
#include <zstd_errors.h>

namespace uring_zstd {

/// Any number of frames, one after the other. Skippable frames add nothing.
class decompressor {
public:
    /// @param file  what error messages call the input.
    explicit decompressor(std::string file) : file_(std::move(file)) {
        if (!context_) {
            throw std::bad_alloc();
        }
    }

    /// Decompresses as much of `piece` as there is room for in `into`.
    /// @returns what is left of `piece`. @throws file_error
    std::span<std::byte> add(std::span<std::byte> piece, block& into) {
        const auto room = into.room();
        ZSTD_inBuffer from{piece.data(), piece.size(), 0};
        ZSTD_outBuffer to{room.data(), room.size(), 0};
        const std::size_t status = ZSTD_decompressStream(context_.get(), &to, &from);
        if (ZSTD_isError(status) != 0) {
            throw file_error(file_, "decompress", reason(status));
        }
        into.size += to.pos;
        within_frame_ = status != 0;
        any_frame_ = any_frame_ || !within_frame_;
        has_more_ = within_frame_ && to.pos == to.size;
        return piece.subspan(from.pos);
    }

    /// Whether libzstd may hold back output for lack of room: then `add`, also of an empty piece,
    /// gives more.
    bool has_more() const noexcept { return has_more_; }

    /// Call it at the end of the input. @throws file_error if that is not the end of a frame
    void finish() const {
        if (within_frame_ || !any_frame_) {
            throw file_error(file_, "decompress", "unexpected end of file");
        }
    }

private:
    std::string reason(std::size_t status) const {
        switch (ZSTD_getErrorCode(status)) {
        case ZSTD_error_prefix_unknown:
            return any_frame_ ? "what follows the last frame is not compressed by zstd"
                              : "not compressed by zstd";
        case ZSTD_error_frameParameter_windowTooLarge:
            return "it needs more than 128 MiB of memory (zstd -d --long=31 may take it)";
        default:
            return ZSTD_getErrorName(status);
        }
    }

    std::string file_;
    std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context_{ZSTD_createDCtx(),
                                                                  &ZSTD_freeDCtx};
    bool any_frame_ = false; ///< A complete one.
    bool within_frame_ = false;
    bool has_more_ = false;
};

} // namespace uring_zstd
