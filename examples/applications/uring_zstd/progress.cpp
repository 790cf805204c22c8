// SPDX-License-Identifier: MIT
#include "progress.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>

namespace uring_zstd {

namespace {

double as_real(std::uint64_t number) noexcept {
    return static_cast<double>(number);
}

/// Formats a size with three digits, in the largest unit that gives at least 1.
std::string human_readable(std::uint64_t size) {
    constexpr std::array units{" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
    std::size_t unit = 0;
    double value = as_real(size);
    for (; value >= 1024; value /= 1024) {
        ++unit;
    }
    int digits = 2;
    if (unit == 0 || value >= 100) {
        digits = 0;
    } else if (value >= 10) {
        digits = 1;
    }
    return fmt::format("{:6.{}f}{}", value, digits, units.at(unit));
}

} // namespace

progress_line::~progress_line() {
    if (drawn_) {
        std::fputs("\r\x1b[K", stderr);
    }
}

void progress_line::show(std::uint64_t bytes_in, std::uint64_t bytes_out) {
    const std::chrono::duration<double> elapsed = clock::now() - start_;
    std::string text = "\r";
    if (total_) {
        text += fmt::format("{:5.1f}%  ", 100 * as_real(bytes_in) / as_real(*total_));
    }
    text += fmt::format("{:.1f} MB  {:.1f} MB/s", as_real(bytes_in) / 1e6,
                        as_real(bytes_in) / 1e6 / elapsed.count());
    if (bytes_out != 0) {
        text += fmt::format("  => {:.1f} MB", as_real(bytes_out) / 1e6);
    }
    text += "\x1b[K";
    std::fputs(text.c_str(), stderr);
    drawn_ = true;
}

std::string settings(const options& chosen, const std::string& from) {
    constexpr std::array names{"compress", "decompress", "test", "hash", "copy"};
    std::string text = fmt::format("{}: {}", from, names.at(static_cast<std::size_t>(chosen.what)));
    if (chosen.what == action::compress) {
        text += fmt::format(", level {}, workers: {}", chosen.level, chosen.worker_count());
    }
    return text + fmt::format(", loops: {}, lanes: {}, buffer: {} KiB\n", chosen.loops,
                              chosen.lanes, chosen.buffer_size / 1024);
}

std::string summary(const options& chosen, const std::string& from, const std::string& to,
                    const outcome& got) {
    if (chosen.what == action::decompress || chosen.what == action::test) {
        return fmt::format("{:<20}: {} bytes\n", from, got.bytes_out);
    }
    const std::string percent =
        got.bytes_in == 0
            ? " "
            : fmt::format("{:6.2f}%  ", 100 * as_real(got.bytes_out) / as_real(got.bytes_in));
    return fmt::format("{:<20} :{} ({} => {}, {})\n", from, percent, human_readable(got.bytes_in),
                       human_readable(got.bytes_out), to);
}

std::string digest_line(const std::string& digest, const std::string& file) {
    std::string name;
    for (const char each : file) {
        switch (each) {
        case '\\':
            name += "\\\\";
            break;
        case '\n':
            name += "\\n";
            break;
        case '\r':
            name += "\\r";
            break;
        default:
            name += each;
        }
    }
    return fmt::format("{}{}  {}\n", name == file ? "" : "\\", digest, name);
}

} // namespace uring_zstd
