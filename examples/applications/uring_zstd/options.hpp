// SPDX-License-Identifier: MIT
/// @file
/// What can be chosen on the command line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace uring_zstd {

enum class action : unsigned char { compress, decompress, test, hash, copy };

/// For one file.
struct options {
    static constexpr const char* standard_stream = "-";

    std::string input;
    std::string output;
    action what = action::compress;
    int level = 3;

    /// Threads of libzstd that compress; 0: the loop's thread does. The default is 0 for low
    /// levels, at which a worker gains little and the thread that feeds it spins for a fifth of the
    /// processor time. It is 0 for high levels because a stop waits for a worker's present job,
    /// which then takes seconds.
    std::optional<int> workers;
    static constexpr int lowest_worker_level = 3;
    static constexpr int highest_worker_level = 12;
    int worker_count() const noexcept {
        return workers.value_or(level >= lowest_worker_level && level <= highest_worker_level ? 1
                                                                                              : 0);
    }

    // For these three see "Figures" in README.md.
    std::size_t loops = 3;
    std::size_t lanes = 4;
    std::size_t buffer_size = std::size_t{256} * 1024;

    bool direct = false; ///< Past the page cache: O_DIRECT.
    bool force = false; ///< An existing output is replaced.
    bool remove = false; ///< The input, when the output is complete.
    bool quiet = false;
    bool verbose = false;

    /// Whether there is an output.
    bool writes() const noexcept { return what != action::test && what != action::hash; }
};

} // namespace uring_zstd
