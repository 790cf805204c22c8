// SPDX-License-Identifier: MIT
/// @file
/// Progress and summaries.
#pragma once

#include "options.hpp"
#include "outcome.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace uring_zstd {

/// Redraws a single line on a terminal, and erases it at the end.
class progress_line {
public:
    explicit progress_line(std::optional<std::uint64_t> total) : total_(total) {}
    progress_line(const progress_line&) = delete;
    progress_line& operator=(const progress_line&) = delete;
    ~progress_line();

    void show(std::uint64_t bytes_in, std::uint64_t bytes_out);

private:
    using clock = std::chrono::steady_clock;

    std::optional<std::uint64_t> total_;
    clock::time_point start_ = clock::now();
    bool drawn_ = false;
};

/// A line with the action for a file and its settings.
std::string settings(const options& chosen, const std::string& from);

/// A line in zstd's format: "FILE : 46.23%   (  1.84 MiB =>    870 KiB, OUTPUT)", or
/// "FILE : 1234 bytes".
std::string summary(const options& chosen, const std::string& from, const std::string& to,
                    const outcome& got);

/// A line in sha256sum's format.
std::string digest_line(const std::string& digest, const std::string& file);

} // namespace uring_zstd
