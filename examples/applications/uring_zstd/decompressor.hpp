// SPDX-License-Identifier: MIT
/// @file
/// Decompresses Zstandard frames, piece by piece, on the calling thread. libzstd.
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

/// Accepts any number of consecutive frames. Skippable frames produce no output.
class decompressor {
public:
    /// @param file  the name of the input in error messages.
    explicit decompressor(std::string file) : file_(std::move(file)) {
        if (!context_) {
            throw std::bad_alloc();
        }
    }

    /// Decompresses as much of `piece` as `into` has room for.
    /// @returns the rest of `piece`. @throws file_error
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

    /// Whether libzstd may have more output for which there was no room. Then call `add` again,
    /// even with an empty piece.
    bool has_more() const noexcept { return has_more_; }

    /// Call it at the end of the input. @throws file_error if that is not the end of a frame.
    void finish() const {
        if (within_frame_ || !any_frame_) {
            throw file_error(file_, "decompress", "unexpected end of file");
        }
    }

private:
    std::string reason(std::size_t status) const {
        switch (ZSTD_getErrorCode(status)) {
        case ZSTD_error_prefix_unknown:
            return any_frame_ ? "the data after the last frame is not in zstd format"
                              : "it is not in zstd format";
        case ZSTD_error_frameParameter_windowTooLarge:
            return "the window is larger than 128 MiB; try zstd -d --long=31";
        default:
            return ZSTD_getErrorName(status);
        }
    }

    std::string file_;
    std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context_{ZSTD_createDCtx(),
                                                                  &ZSTD_freeDCtx};
    bool any_frame_ = false; ///< Whether a frame has been completed.
    bool within_frame_ = false;
    bool has_more_ = false;
};

} // namespace uring_zstd
