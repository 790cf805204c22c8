// SPDX-License-Identifier: MIT
#include "new_file.hpp"

#include "failure.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio> // renameat2
#include <cstdlib>
#include <random>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace uring_zstd {

namespace {

using tryst::uring::descriptor;

std::error_code error_of(bool succeeded) noexcept {
    return succeeded ? std::error_code() : last_error();
}

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "./" : path.substr(0, slash + 1);
}

/// A temporary name. It does not contain the output's name, which may have the maximal length.
std::string temporary_name(const std::string& path, const std::string& tail) {
    return folder_of(path) + ".uring_zstd." + tail;
}

/// The path for linkat(2). (AT_EMPTY_PATH would need a capability.)
std::string link_of(int open_file) {
    return fmt::format("/proc/self/fd/{}", open_file);
}

std::error_code give_name(int open_file, const std::string& path) {
    return error_of(::linkat(AT_FDCWD, link_of(open_file).c_str(), AT_FDCWD, path.c_str(),
                             AT_SYMLINK_FOLLOW) == 0);
}

std::error_code rename_file(const std::string& from, const std::string& to, bool replaces) {
    const unsigned flags = replaces ? 0 : RENAME_NOREPLACE;
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0) {
        return {};
    }
    // Not all file systems support the flag. link(2) does not replace a file either.
    if (replaces || errno != EINVAL || ::link(from.c_str(), to.c_str()) != 0) {
        return last_error();
    }
    ::unlink(from.c_str());
    return {};
}

} // namespace

new_file::~new_file() {
    if (!temporary_.empty()) {
        ::unlink(temporary_.c_str());
    }
}

descriptor new_file::create(const std::string& path) {
    constexpr mode_t owner_only = 0600;
    descriptor open_file(
        ::open(folder_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, owner_only));
    if (open_file && ::access(link_of(open_file.get()).c_str(), F_OK) == 0) {
        return open_file;
    }
    std::string name = temporary_name(path, "XXXXXX");
    open_file.reset(::mkostemp(name.data(), O_CLOEXEC));
    if (open_file) {
        temporary_ = std::move(name);
    }
    return open_file;
}

std::error_code new_file::publish(int open_file, const std::string& path, bool replaces) {
    if (temporary_.empty()) {
        std::error_code failed = give_name(open_file, path);
        if (!replaces || failed != std::errc::file_exists) {
            return failed;
        }
        // linkat(2) cannot replace a file, but rename(2) can. If the process is killed between the
        // two calls, the temporary name stays.
        std::random_device random;
        std::string name;
        do {
            name = temporary_name(path, fmt::format("{:08x}", random()));
            failed = give_name(open_file, name);
        } while (failed == std::errc::file_exists);
        if (failed) {
            return failed;
        }
        temporary_ = std::move(name);
    }
    const std::error_code failed = rename_file(temporary_, path, replaces);
    if (!failed) {
        temporary_.clear();
    }
    return failed;
}

} // namespace uring_zstd
