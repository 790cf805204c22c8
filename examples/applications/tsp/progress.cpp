// SPDX-License-Identifier: MIT
#include "progress.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include <unistd.h>

namespace tsp {

progress_line::progress_line(std::optional<std::int64_t> optimum)
    : optimum_(optimum), on_terminal_(::isatty(STDERR_FILENO) == 1) {}

progress_line::~progress_line() {
    if (drawn_ && on_terminal_) {
        std::fputs("\r\x1b[K", stderr);
    }
}

void progress_line::show(status now) {
    if (now.length == 0 || clock::now() < next_) {
        return;
    }
    next_ = clock::now() + std::chrono::milliseconds(on_terminal_ ? 100 : 1000);
    const std::chrono::duration<double> elapsed = clock::now() - start_;
    std::string text = fmt::format("generation {}  length {}", now.generation, now.length);
    if (optimum_) {
        text += fmt::format("  gap {:.2f}%", gap(now.length, *optimum_));
    }
    text += fmt::format("  {:.0f} generations/s",
                        static_cast<double>(now.generation) / elapsed.count());
    std::fputs((on_terminal_ ? "\r" + text + "\x1b[K" : text + "\n").c_str(), stderr);
    drawn_ = true;
}

} // namespace tsp
