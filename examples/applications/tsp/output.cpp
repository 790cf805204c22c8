// SPDX-License-Identifier: MIT
#include "output.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace tsp {

namespace {

/// The index at which the file name begins in `path`.
std::size_t name_position(const std::string& path) noexcept {
    return path.rfind('/') + 1; // 0 without a slash
}

std::string folder_of(const std::string& path) {
    const std::size_t name = name_position(path);
    return name == 0 ? "./" : path.substr(0, name);
}

/// Whether `path` is a link in procfs, such as /proc/self/fd/1. The file that it leads to need not
/// have a name.
bool leads_to_descriptor(const std::string& path) {
    struct statfs system{};
    std::error_code ignored;
    return std::filesystem::is_symlink(path, ignored) &&
           ::statfs(folder_of(path).c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/// Follows all symbolic links except those to descriptors. Stops at a link that cannot be followed;
/// opening the file then reports the reason.
std::string follow_links(const std::string& path) {
    constexpr int max_links = 40; // the kernel's limit
    std::filesystem::path target = path;
    for (int i = 0; i != max_links && !leads_to_descriptor(target); ++i) {
        std::error_code is_no_link;
        const std::filesystem::path next = std::filesystem::read_symlink(target, is_no_link);
        if (is_no_link) {
            break;
        }
        target = folder_of(target) / next; // equals `next` if that is absolute
    }
    return target;
}

/// @returns the descriptor among standard output and standard error that is this file, or -1.
int standard_descriptor(const struct stat& file) noexcept {
    for (const int each : {STDOUT_FILENO, STDERR_FILENO}) {
        struct stat other{};
        if (::fstat(each, &other) == 0 && other.st_dev == file.st_dev &&
            other.st_ino == file.st_ino) {
            return each;
        }
    }
    return -1;
}

/// Owns a file descriptor. Its functions leave the reason for a failure in `errno`.
class descriptor {
public:
    explicit descriptor(int open_file) noexcept : open_file_(open_file) {}
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() { close(); }

    explicit operator bool() const noexcept { return open_file_ >= 0; }
    int get() const noexcept { return open_file_; }

    bool close() noexcept {
        const int open_file = std::exchange(open_file_, -1);
        return open_file < 0 || ::close(open_file) == 0;
    }

    bool write(std::string_view text) const noexcept {
        while (!text.empty()) {
            const ssize_t count = ::write(open_file_, text.data(), text.size());
            if (count < 0 && errno != EINTR) {
                return false;
            }
            text.remove_prefix(count < 0 ? 0 : static_cast<std::size_t>(count));
        }
        return true;
    }

private:
    int open_file_;
};

/// Creates a file in the folder of `target`. @returns its descriptor or -1, and its path.
std::pair<int, std::string> create_beside(const std::string& target) {
    for (int i = 0;; ++i) {
        std::string path = fmt::format("{}.tsp.{}.{}", folder_of(target), ::getpid(), i);
        const int created =
            ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); // less the umask
        if (created >= 0 || errno != EEXIST) {
            return {created, std::move(path)};
        }
    }
}

} // namespace

void fail_by_errno(const std::string& file, const char* operation) {
    throw std::runtime_error(
        fmt::format("{}: cannot {}: {}", file, operation, std::generic_category().message(errno)));
}

std::optional<file_identity> identify(const std::string& path) {
    const std::string target = follow_links(path);
    struct stat status{};
    if (::stat(target.c_str(), &status) == 0) {
        if (S_ISCHR(status.st_mode)) {
            return std::nullopt;
        }
        return file_identity{.device = status.st_dev, .inode = status.st_ino, .name = {}};
    }
    if (::stat(folder_of(target).c_str(), &status) != 0) {
        return std::nullopt;
    }
    return file_identity{.device = status.st_dev,
                         .inode = status.st_ino,
                         .name = target.substr(name_position(target))};
}

output::output(std::string path) : path_(std::move(path)), target_(follow_links(path_)) {
    struct stat status{};
    if (::stat(target_.c_str(), &status) == 0) {
        if (S_ISDIR(status.st_mode)) {
            errno = EISDIR;
            fail_by_errno(path_, "open");
        }
        if (::access(target_.c_str(), W_OK) != 0) {
            fail_by_errno(path_, "open");
        }
        is_direct_ = !S_ISREG(status.st_mode) || leads_to_descriptor(target_) ||
                     standard_descriptor(status) >= 0;
    } else if (errno != ENOENT) {
        fail_by_errno(path_, "open");
    }
    if (is_direct_) {
        return;
    }
    const auto [created, temporary] = create_beside(target_);
    const descriptor closed_at_once(created);
    if (!closed_at_once || ::unlink(temporary.c_str()) != 0) {
        fail_by_errno(path_, "create a file in its folder");
    }
}

void output::write(std::string_view text) const {
    if (is_direct_) {
        write_directly(text);
    } else {
        replace(text);
    }
}

void output::write_directly(std::string_view text) const {
    struct stat status{};
    const int open_already =
        ::stat(target_.c_str(), &status) == 0 ? standard_descriptor(status) : -1;
    // A duplicate of standard output shares its position, so the summary follows the text. A file
    // that is opened here is appended to, in case it has content.
    descriptor to(open_already >= 0 ? ::fcntl(open_already, F_DUPFD_CLOEXEC, 0)
                                    : ::open(target_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (!to) {
        fail_by_errno(path_, "open");
    }
    if (!to.write(text) || !to.close()) {
        fail_by_errno(path_, "write");
    }
}

void output::replace(std::string_view text) const {
    const auto [created, temporary] = create_beside(target_);
    descriptor to(created);
    if (!to) {
        fail_by_errno(path_, "create a file in its folder");
    }
    struct stat old{};
    if (::stat(target_.c_str(), &old) == 0) {
        // Only root can change the owner, so failures are ignored. Changing the owner clears bits
        // of the mode, so the mode is set afterwards.
        std::ignore = ::fchown(to.get(), old.st_uid, old.st_gid);
        std::ignore = ::fchmod(to.get(), old.st_mode & 07777);
    }
    if (!to.write(text) || ::fsync(to.get()) != 0 || !to.close()) {
        const int why = errno;
        ::unlink(temporary.c_str());
        errno = why;
        fail_by_errno(path_, "write");
    }
    if (std::rename(temporary.c_str(), target_.c_str()) != 0) {
        throw std::runtime_error(fmt::format("{}: cannot replace: {}; the new content is in {}",
                                             path_, std::generic_category().message(errno),
                                             temporary));
    }
}

} // namespace tsp
