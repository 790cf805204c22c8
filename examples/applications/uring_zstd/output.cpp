// SPDX-License-Identifier: MIT
#include "output.hpp"

#include "failure.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <tuple>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace uring_zstd {

namespace {

mode_t default_mode() noexcept {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

/// The permissions for a file whose group could not be set. Members of the old group are now among
/// the others, and members of the new group were. So both get only what both had.
mode_t for_another_group(mode_t mode) noexcept {
    const mode_t both = (mode >> 3) & mode & 07;
    return (mode & 0700) | (both << 3) | both;
}

/// Follows symbolic links. @returns the one that the kernel makes for a descriptor, such as
/// /proc/self/fd/1; empty if there is none.
std::filesystem::path descriptor_link(std::filesystem::path path) {
    constexpr int most_links = 40; // as many as the kernel follows
    for (int i = 0; i != most_links; ++i) {
        std::error_code is_no_link;
        const auto target = std::filesystem::read_symlink(path, is_no_link);
        if (is_no_link) {
            break;
        }
        const auto folder = path.parent_path() / ""; // empty if it is the present one
        struct statfs system{};
        if (::statfs(folder.empty() ? "." : folder.c_str(), &system) == 0 &&
            system.f_type == PROC_SUPER_MAGIC) {
            return path;
        }
        path = folder / target; // which is `target` if that is absolute
    }
    return {};
}

/// Opens the file behind such a link. A duplicate of our own descriptor shares its position.
/// Through the descriptor of another process, data is appended.
int open_behind(const std::filesystem::path& link, const struct stat& status) noexcept {
    const char* const name = link.c_str() + link.native().rfind('/') + 1;
    const char* const end = link.c_str() + link.native().size();
    int number = -1;
    struct stat own{};
    if (std::from_chars(name, end, number).ptr == end && ::fstat(number, &own) == 0 &&
        own.st_dev == status.st_dev && own.st_ino == status.st_ino) {
        return ::fcntl(number, F_DUPFD_CLOEXEC, 0);
    }
    return ::open(link.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
}

} // namespace

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
    const auto link = leads_somewhere ? descriptor_link(name_) : std::filesystem::path();
    if (!link.empty() || (leads_somewhere && !S_ISREG(status_.st_mode))) { // to be written to
        if (!link.empty() && direct_) { // others may share the descriptor
            throw file_error(name_, "bypass the page cache", "it leads to a descriptor");
        }
        open_.reset(link.empty() ? ::open(name_.c_str(), O_WRONLY | O_CLOEXEC)
                                 : open_behind(link, status_));
        if (!open_) {
            throw file_error(name_, "open", last_error());
        }
        stream_ = true;
        if (direct_) {
            make_direct();
        }
        return;
    }
    struct stat existing{};
    if (!replaces_ && ::lstat(name_.c_str(), &existing) == 0) {
        throw file_error(name_, "write", "it exists already (-f replaces it)");
    }
}

void output::create(const input& origin) {
    const struct stat& other = origin.status();
    const bool holds_data = S_ISREG(status_.st_mode) || S_ISBLK(status_.st_mode);
    const bool is_origin =
        holds_data && status_.st_dev == other.st_dev && status_.st_ino == other.st_ino;
    if (is_origin && (stream_ || !copies_)) {
        throw file_error(name_, "write", "it is what is read");
    }
    if (stream_) {
        return;
    }
    open_ = made_.create(name_);
    if (!open_ || ::fstat(open_.get(), &status_) != 0) {
        throw file_error(name_, "create", last_error());
    }
    if (direct_) {
        make_direct();
        if (copies_) {
            reserve(origin.size().value_or(0));
        }
    }
}

/// The kernel serialises O_DIRECT writes that extend a file, but not those within the file. So this
/// reserves the space in advance, where the file system can do so.
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
    // On a network file system close(2) reports failed writes, also that of a duplicate.
    const int duplicate = ::fcntl(open_.get(), F_DUPFD_CLOEXEC, 0);
    if (duplicate < 0 || ::close(duplicate) != 0) {
        throw file_error(name_, "write", last_error());
    }
    if (!stream_) {
        if (const auto failed = made_.publish(open_.get(), name_, replaces_)) {
            throw file_error(name_, "create", failed);
        }
    }
    open_.reset();
}

/// As zstd does: the group first, then the permissions, then the owner. What the file system or the
/// kernel refuses to set is left as it is.
void output::take_after(const struct stat& origin) noexcept {
    if (!S_ISREG(origin.st_mode)) {
        std::ignore = ::fchmod(open_.get(), default_mode());
        return;
    }
    constexpr auto unchanged = static_cast<uid_t>(-1);
    const std::array<timespec, 2> times{origin.st_atim, origin.st_mtim};
    std::ignore = ::futimens(open_.get(), times.data());
    const bool same_group = ::fchown(open_.get(), unchanged, origin.st_gid) == 0;
    const mode_t mode = origin.st_mode & 0777;
    std::ignore = ::fchmod(open_.get(), same_group ? mode : for_another_group(mode));
    std::ignore = ::fchown(open_.get(), origin.st_uid, unchanged);
}

} // namespace uring_zstd
