// SPDX-License-Identifier: MIT
#include "files.hpp"

#include "failure.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace uring_zstd {

namespace {

/// Whether `status` contains the real length of the file. Files in /proc report 0, and files in
/// /sys report one page.
bool has_known_size(int open_file, const struct stat& status) noexcept {
    struct statfs system{};
    return S_ISREG(status.st_mode) && status.st_size != 0 && ::fstatfs(open_file, &system) == 0 &&
           system.f_type != SYSFS_MAGIC;
}

} // namespace

void file::make_direct() {
    // Set the flag here, not in open(2): on some file systems, open(2) creates the file before it
    // refuses the flag.
    const int flags = ::fcntl(open_.get(), F_GETFL);
    if (!S_ISREG(status_.st_mode)) {
        throw file_error(name_, "bypass the page cache", "not a regular file");
    }
    if (flags < 0 || ::fcntl(open_.get(), F_SETFL, flags | O_DIRECT) < 0) {
        throw file_error(name_, "bypass the page cache",
                         "the file system does not support O_DIRECT; omit --direct");
    }
}

input::input(const options& chosen) : file(chosen.input, chosen.direct) {
    if (name_ == options::standard_stream) {
        name_ = "standard input";
        open_.reset(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
        stream_ = true;
    } else {
        open_.reset(::open(name_.c_str(), O_RDONLY | O_CLOEXEC));
    }
    if (!open_ || ::fstat(open_.get(), &status_) != 0) {
        throw file_error(name_, "open", last_error());
    }
    if (S_ISDIR(status_.st_mode)) {
        throw file_error(name_, "read", "it is a directory");
    }
    stream_ = stream_ || !has_known_size(open_.get(), status_);
    if (direct_) {
        make_direct();
    }
}

std::optional<std::uint64_t> input::size() const noexcept {
    if (stream_) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(status_.st_size);
}

void input::check_removable() const {
    struct stat now{};
    if (::lstat(name_.c_str(), &now) != 0) {
        throw file_error(name_, "remove", last_error());
    }
    if (!S_ISREG(now.st_mode)) {
        throw file_error(name_, "remove", "not a regular file");
    }
    const auto& then = status_;
    if (now.st_dev != then.st_dev || now.st_ino != then.st_ino || now.st_size != then.st_size ||
        now.st_mtim.tv_sec != then.st_mtim.tv_sec || now.st_mtim.tv_nsec != then.st_mtim.tv_nsec) {
        throw file_error(name_, "remove", "it has changed since it was opened");
    }
}

void input::remove() const {
    check_removable();
    if (::unlink(name_.c_str()) != 0) {
        throw file_error(name_, "remove", last_error());
    }
}

} // namespace uring_zstd
