// SPDX-License-Identifier: MIT
/// @file
/// The options of the command line, with their defaults.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace uring_zstd {

enum class action : unsigned char { compress, decompress, test, hash, copy };

/// The options for one file.
struct options {
    static constexpr const char* standard_stream = "-";

    std::string input;
    std::string output;
    action what = action::compress;
    int level = 3;

    /// The number of libzstd threads that compress. With 0, the event loop's thread compresses. For
    /// low levels the default is 0: a worker gains little, and the thread that feeds it spins for a
    /// fifth of the processor time. For high levels it is 0 because a stop waits for the worker's
    /// current job, which takes seconds.
    std::optional<int> workers;
    static constexpr int lowest_worker_level = 3;
    static constexpr int highest_worker_level = 12;
    int worker_count() const noexcept {
        return workers.value_or(level >= lowest_worker_level && level <= highest_worker_level ? 1
                                                                                              : 0);
    }

    // "Figures" in README.md gives the reasons for these three.
    std::size_t loops = 3;
    std::size_t lanes = 4;
    std::size_t buffer_size = std::size_t{256} * 1024;

    bool direct = false; ///< Bypass the page cache (O_DIRECT).
    bool force = false; ///< Replace an existing output.
    bool remove = false; ///< Remove the input when the output is complete.
    bool quiet = false;
    bool verbose = false;

    /// Whether there is an output.
    bool writes() const noexcept { return what != action::test && what != action::hash; }
};

} // namespace uring_zstd
