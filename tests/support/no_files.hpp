// SPDX-License-Identifier: MIT
/// @file
/// A process that can open no more files.
#pragma once

#include <filesystem>
#include <iterator>

#include <sys/resource.h>

namespace tryst::test {

/// Until its end, no file can be opened.
class no_more_files {
public:
    no_more_files() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        rlimit none = before_;
        none.rlim_cur = 0;
        ::setrlimit(RLIMIT_NOFILE, &none);
    }
    no_more_files(const no_more_files&) = delete;
    no_more_files& operator=(const no_more_files&) = delete;
    ~no_more_files() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

inline auto open_files() {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
}

} // namespace tryst::test
