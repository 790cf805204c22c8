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

/// The permissions for a file whose group could not be set. Members of the old group now belong to
/// the others, and members of the new group did before. So both get only the common permissions.
mode_t mode_without_group(mode_t mode) noexcept {
    const mode_t both = (mode >> 3) & mode & 07;
    return (mode & 0700) | (both << 3) | both;
}

/// Follows symbolic links. @returns the link in procfs to a descriptor, such as /proc/self/fd/1;
/// empty if `path` does not lead to one.
std::filesystem::path descriptor_link(std::filesystem::path path) {
    constexpr int max_links = 40; // the kernel's limit
    for (int i = 0; i != max_links; ++i) {
        std::error_code is_no_link;
        const auto target = std::filesystem::read_symlink(path, is_no_link);
        if (is_no_link) {
            break;
        }
        const auto folder = path.parent_path() / ""; // empty for the current folder
        struct statfs system{};
        if (::statfs(folder.empty() ? "." : folder.c_str(), &system) == 0 &&
            system.f_type == PROC_SUPER_MAGIC) {
            return path;
        }
        path = folder / target; // equals `target` if that is absolute
    }
    return {};
}

/// Opens the file that such a link leads to. Duplicates a descriptor of this process, because the
/// duplicate shares its position. Opens a descriptor of another process for appending.
int open_descriptor_link(const std::filesystem::path& link, const struct stat& status) noexcept {
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
            throw file_error(name_, "write",
                             "it is a terminal; use -f to write compressed data to it");
        }
        stream_ = true;
        return;
    }
    const bool exists = ::stat(name_.c_str(), &status_) == 0;
    if (exists && S_ISDIR(status_.st_mode)) {
        throw file_error(name_, "write", "it is a directory");
    }
    const auto link = exists ? descriptor_link(name_) : std::filesystem::path();
    if (!link.empty() || (exists && !S_ISREG(status_.st_mode))) { // write to it, do not replace it
        if (!link.empty() && direct_) { // other processes may share the descriptor
            throw file_error(name_, "bypass the page cache",
                             "it leads to a descriptor; omit --direct");
        }
        open_.reset(link.empty() ? ::open(name_.c_str(), O_WRONLY | O_CLOEXEC)
                                 : open_descriptor_link(link, status_));
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
        throw file_error(name_, "write", "the file exists; use -f to replace it");
    }
}

void output::create(const input& origin) {
    const struct stat& other = origin.status();
    const bool holds_data = S_ISREG(status_.st_mode) || S_ISBLK(status_.st_mode);
    const bool is_origin =
        holds_data && status_.st_dev == other.st_dev && status_.st_ino == other.st_ino;
    if (is_origin && (stream_ || !copies_)) {
        throw file_error(name_, "write", "it is also the input; choose another output");
    }
    if (stream_) {
        return;
    }
    open_ = new_file_.create(name_);
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

/// Reserves the space in advance, if the file system supports that. The kernel serialises O_DIRECT
/// writes that extend a file, but not those within the file.
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
        // With O_DIRECT the last sector was written completely: remove its padding.
        if (direct_ && ::ftruncate(open_.get(), static_cast<off_t>(size)) != 0) {
            throw file_error(name_, "truncate", last_error());
        }
        copy_attributes(origin.status());
    }
    // On a network file system, close(2) reports failed writes, even for a duplicate.
    const int duplicate = ::fcntl(open_.get(), F_DUPFD_CLOEXEC, 0);
    if (duplicate < 0 || ::close(duplicate) != 0) {
        throw file_error(name_, "write", last_error());
    }
    if (!stream_) {
        if (const auto failed = new_file_.publish(open_.get(), name_, replaces_)) {
            throw file_error(name_, "create", failed);
        }
    }
    open_.reset();
}

/// Sets the group first, then the permissions, then the owner, as zstd does. Ignores errors:
/// attributes that the file system or the kernel refuses to set stay unchanged.
void output::copy_attributes(const struct stat& origin) noexcept {
    if (!S_ISREG(origin.st_mode)) {
        std::ignore = ::fchmod(open_.get(), default_mode());
        return;
    }
    constexpr auto unchanged = static_cast<uid_t>(-1);
    const std::array<timespec, 2> times{origin.st_atim, origin.st_mtim};
    std::ignore = ::futimens(open_.get(), times.data());
    const bool same_group = ::fchown(open_.get(), unchanged, origin.st_gid) == 0;
    const mode_t mode = origin.st_mode & 0777;
    std::ignore = ::fchmod(open_.get(), same_group ? mode : mode_without_group(mode));
    std::ignore = ::fchown(open_.get(), origin.st_uid, unchanged);
}

} // namespace uring_zstd
