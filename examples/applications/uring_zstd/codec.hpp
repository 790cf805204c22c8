// SPDX-License-Identifier: MIT
/// @file
/// Compresses and decompresses piece by piece, with libzstd.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>

#include <zstd.h>

namespace uring_zstd {

/// What a codec has done: how many bytes it took, and how many it made.
struct step {
    std::size_t taken;
    std::size_t made;
    bool is_complete; ///< Nothing is left inside.
};

inline std::size_t check(std::size_t status) {
    if (ZSTD_isError(status) != 0) {
        throw std::runtime_error(ZSTD_getErrorName(status));
    }
    return status;
}

/// Makes one frame, with a checksum. A thread of libzstd compresses.
class compressor {
public:
    explicit compressor(int level) {
        if (!context_) {
            throw std::bad_alloc();
        }
        set(ZSTD_c_compressionLevel, level);
        set(ZSTD_c_nbWorkers, ZSTD_cParam_getBounds(ZSTD_c_nbWorkers).upperBound != 0 ? 1 : 0);
        set(ZSTD_c_checksumFlag, 1);
    }

    step run(std::span<const std::byte> from, std::span<std::byte> into, bool at_end) {
        ZSTD_inBuffer source{from.data(), from.size(), 0};
        ZSTD_outBuffer result{into.data(), into.size(), 0};
        const auto how = at_end ? ZSTD_e_end : ZSTD_e_continue;
        const auto left = check(ZSTD_compressStream2(context_.get(), &result, &source, how));
        return {source.pos, result.pos, at_end ? left == 0 : source.pos == source.size};
    }

private:
    void set(ZSTD_cParameter which, int value) {
        check(ZSTD_CCtx_setParameter(context_.get(), which, value));
    }

    std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context_{ZSTD_createCCtx(),
                                                                  &ZSTD_freeCCtx};
};

/// Accepts any number of frames, also skippable ones.
class decompressor {
public:
    decompressor() {
        if (!context_) {
            throw std::bad_alloc();
        }
    }

    step run(std::span<const std::byte> from, std::span<std::byte> into, bool at_end) {
        ZSTD_inBuffer source{from.data(), from.size(), 0};
        ZSTD_outBuffer result{into.data(), into.size(), 0};
        if (!from.empty() || may_have_more_) {
            const auto left = check(ZSTD_decompressStream(context_.get(), &result, &source));
            is_within_frame_ = left != 0;
            may_have_more_ = is_within_frame_ && result.pos == result.size;
        }
        const bool is_complete = source.pos == source.size && !may_have_more_;
        if (at_end && is_complete && is_within_frame_) {
            throw std::runtime_error("the input ends within a frame");
        }
        return {source.pos, result.pos, is_complete};
    }

private:
    std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context_{ZSTD_createDCtx(),
                                                                  &ZSTD_freeDCtx};
    bool is_within_frame_ = true; ///< An empty input is no frame.
    bool may_have_more_ = false;
};

} // namespace uring_zstd
