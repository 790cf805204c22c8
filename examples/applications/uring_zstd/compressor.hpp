// SPDX-License-Identifier: MIT
/// @file
/// Compresses into one Zstandard frame, piece by piece, on the calling thread or on worker threads
/// of libzstd.
#pragma once

#include "block.hpp"
#include "failure.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <zstd.h>

namespace uring_zstd {

class compressor {
public:
    /// The frame has a checksum, and the size if it is known, like a frame of the zstd command.
    /// @param file  the name of the input in error messages.
    compressor(std::string file, int level, int workers, std::optional<std::uint64_t> size)
        : file_(std::move(file)) {
        if (!context_) {
            throw std::bad_alloc();
        }
        set(ZSTD_c_compressionLevel, level);
        const ZSTD_bounds possible = ZSTD_cParam_getBounds(ZSTD_c_nbWorkers);
        set(ZSTD_c_nbWorkers,
            std::min(workers, possible.upperBound)); // libzstd may be without threads
        set(ZSTD_c_checksumFlag, 1);
        if (size) {
            check(ZSTD_CCtx_setPledgedSrcSize(context_.get(), *size));
        }
    }

    /// The largest useful piece: one block of the format.
    static std::size_t piece_size() noexcept { return ZSTD_CStreamInSize(); }

    /// Compresses as much of `piece` as `into` has room for.
    /// @returns the rest of `piece`.
    std::span<std::byte> add(std::span<std::byte> piece, block& into) {
        ZSTD_inBuffer from{piece.data(), piece.size(), 0};
        run(from, into, ZSTD_e_continue);
        return piece.subspan(from.pos);
    }

    /// Ends the frame. @returns false if `into` had not enough room: call it again.
    bool finish(block& into) {
        ZSTD_inBuffer nothing{nullptr, 0, 0};
        return run(nothing, into, ZSTD_e_end) == 0;
    }

private:
    std::size_t check(std::size_t status) const {
        if (ZSTD_isError(status) != 0) {
            throw file_error(file_, "compress", ZSTD_getErrorName(status));
        }
        return status;
    }

    void set(ZSTD_cParameter parameter, int value) {
        check(ZSTD_CCtx_setParameter(context_.get(), parameter, value));
    }

    std::size_t run(ZSTD_inBuffer& from, block& into, ZSTD_EndDirective how) {
        const auto room = into.room();
        ZSTD_outBuffer to{room.data(), room.size(), 0};
        const std::size_t left = check(ZSTD_compressStream2(context_.get(), &to, &from, how));
        into.size += to.pos;
        return left;
    }

    std::string file_;
    std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context_{ZSTD_createCCtx(),
                                                                  &ZSTD_freeCCtx};
};

} // namespace uring_zstd
