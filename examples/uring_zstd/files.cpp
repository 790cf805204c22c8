// SPDX-License-Identifier: MIT
#include "files.hpp"

#include "failure.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace uring_zstd {

namespace {

std::error_code last_error() noexcept {
    return {errno, std::generic_category()};
}

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

/// Whether a file is as long as it says. Of the kernel's own, those in /proc say that they are empty, those in /sys that
/// they are a page.
bool knows_its_size(int open_file, const struct stat& status) noexcept {
    struct statfs system{};
    return S_ISREG(status.st_mode) && status.st_size != 0 && ::fstatfs(open_file, &system) == 0 &&
           system.f_type != SYSFS_MAGIC;
}

mode_t default_mode() noexcept {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

} // namespace

void file::make_direct() {
    // Not asked for in open(2), which on some file systems makes the file before it refuses.
    const int flags = ::fcntl(open_.get(), F_GETFL);
    if (!S_ISREG(status_.st_mode)) {
        throw file_error(name_, "bypass the page cache", "not a regular file");
    }
    if (flags < 0 || ::fcntl(open_.get(), F_SETFL, flags | O_DIRECT) < 0) {
        throw file_error(name_, "bypass the page cache", "the file system does not offer it");
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
        throw file_error(name_, "read", "is a directory");
    }
    stream_ = stream_ || !knows_its_size(open_.get(), status_);
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

output::output(const options& chosen)
    : file(chosen.output, chosen.direct), replaces_(chosen.force),
      copies_(chosen.what == action::copy) {
    if (name_ == options::standard_stream) {
        name_ = "standard output";
        open_.reset(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
        if (!open_ || ::fstat(open_.get(), &status_) != 0) {
            throw file_error(name_, "open", last_error());
        }
        if (chosen.what == action::compress && !chosen.force && ::isatty(open_.get()) == 1) {
            throw file_error(name_, "write", "compressed data on a terminal (-f does so)");
        }
        stream_ = true;
        return;
    }
    const bool leads_somewhere = ::stat(name_.c_str(), &status_) == 0;
    if (leads_somewhere && S_ISDIR(status_.st_mode)) {
        throw file_error(name_, "write", "is a directory");
    }
    if (leads_somewhere && !S_ISREG(status_.st_mode)) { // it is there to be written to
        open_.reset(::open(name_.c_str(), O_WRONLY | O_CLOEXEC));
        if (!open_) {
            throw file_error(name_, "open", last_error());
        }
        stream_ = true;
        if (direct_) {
            make_direct();
        }
        return;
    }
    struct stat link{};
    if (!replaces_ && ::lstat(name_.c_str(), &link) == 0) {
        throw file_error(name_, "write", "it exists already (-f replaces it)");
    }
}

output::~output() {
    if (!temporary_.empty()) {
        ::unlink(temporary_.c_str());
    }
}

void output::create(const input& origin) {
    if (stream_) {
        const struct stat& other = origin.status();
        if (S_ISREG(status_.st_mode) && status_.st_dev == other.st_dev &&
            status_.st_ino == other.st_ino) {
            throw file_error(name_, "write", "it is what is read");
        }
        return;
    }
    // In the same folder, from where it can be renamed. A short name: that of the output may be as long as
    // names can be.
    std::string path = folder_of(name_) + ".uring_zstd.XXXXXX";
    open_.reset(::mkostemp(path.data(), O_CLOEXEC));
    if (!open_) {
        throw file_error(name_, "create", last_error());
    }
    temporary_ = std::move(path);
    if (::fstat(open_.get(), &status_) != 0) {
        throw file_error(name_, "create", last_error());
    }
    if (direct_) {
        make_direct();
        if (copies_) {
            reserve(origin.size().value_or(0));
        }
    }
}

/// O_DIRECT writes that make a file longer go one by one. Those into what is there already need not: hence its size in
/// advance, where the file system can do so.
void output::reserve(std::uint64_t size) {
    if (size == 0) {
        return;
    }
    const int failed = ::fallocate(open_.get(), 0, 0, static_cast<off_t>(transfer_size(size)));
    if (failed != 0 && (errno == ENOSPC || errno == EFBIG || errno == EDQUOT)) {
        throw file_error(name_, "write", last_error());
    }
}

void output::commit(std::uint64_t size, const input& origin) {
    if (!stream_) {
        // The last block was written up to the end of its sector.
        if (direct_ && ::ftruncate(open_.get(), static_cast<off_t>(size)) != 0) {
            throw file_error(name_, "truncate", last_error());
        }
        take_after(origin.status());
    }
    if (::close(open_.release()) !=
        0) { // where a network file system tells what it could not write
        throw file_error(name_, "write", last_error());
    }
    if (!stream_) {
        const unsigned flags = replaces_ ? 0 : RENAME_NOREPLACE;
        int failed = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, name_.c_str(), flags);
        if (failed != 0 && errno == EINVAL) { // not all file systems know the flag
            failed = std::rename(temporary_.c_str(), name_.c_str());
        }
        if (failed != 0) {
            throw file_error(name_, "create", last_error());
        }
        temporary_.clear();
    }
}

/// As gzip and zstd do, and like them without a word where the file system has no such thing.
void output::take_after(const struct stat& origin) noexcept {
    const bool is_file = S_ISREG(origin.st_mode);
    std::ignore = ::fchmod(open_.get(), is_file ? origin.st_mode & 0777 : default_mode());
    if (is_file) {
        const std::array<timespec, 2> times{origin.st_atim, origin.st_mtim};
        std::ignore = ::futimens(open_.get(), times.data());
    }
}

} // namespace uring_zstd
