// SPDX-License-Identifier: MIT
#include "output.hpp"

#include "printable.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>

namespace pairing {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, int error) {
    throw std::system_error(error, std::generic_category(),
                            "cannot write " + (path.empty() ? "standard output" : path.string()));
}

/// Closes a file descriptor.
class descriptor {
public:
    explicit descriptor(int number) noexcept : number_(number) {}
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() { ::close(number_); }

    int get() const noexcept { return number_; }

private:
    int number_;
};

/// A new file in the folder of the file that it will replace, readable only by its owner at first.
/// The destructor removes it unless `replace_target` has succeeded.
class temporary_file {
public:
    explicit temporary_file(const fs::path& target)
        : target_(target), name_((target.parent_path() / ".pairing_client.XXXXXX").string()),
          file_(::mkostemp(name_.data(), O_CLOEXEC)) {
        if (file_.get() < 0) {
            fail(target_, errno);
        }
    }
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;
    ~temporary_file() {
        if (file_.get() >= 0 && !name_.empty()) {
            ::unlink(name_.c_str());
        }
    }

    int file() const noexcept { return file_.get(); }

    void replace_target() {
        if (::rename(name_.c_str(), target_.c_str()) != 0) {
            fail(target_, errno);
        }
        name_.clear();
    }

private:
    fs::path target_;
    std::string name_;
    descriptor file_;
};

fs::path folder_of(const fs::path& path) {
    return path.has_parent_path() ? path.parent_path() : ".";
}

bool is_in_procfs(const fs::path& path) noexcept {
    struct statfs system{};
    return ::statfs(folder_of(path).c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/// Follows symbolic links; the target need not exist. Links in procfs are not followed: they lead
/// to open files, which need not have a name.
fs::path follow_links(fs::path path) {
    constexpr int max_links = 40; // the kernel's limit
    for (int links = 0; fs::is_symlink(fs::symlink_status(path)) && !is_in_procfs(path); ++links) {
        if (links == max_links) {
            fail(path, ELOOP);
        }
        path = path.parent_path() / fs::read_symlink(path);
    }
    return path;
}

/// @returns the descriptor of this process that `path` names (/proc/self/fd/3, for example), or -1.
int named_descriptor(const fs::path& path) {
    std::error_code ignored;
    const bool is_descriptor =
        fs::is_symlink(path, ignored) && fs::equivalent(folder_of(path), "/proc/self/fd", ignored);
    return is_descriptor ? std::stoi(path.filename()) : -1;
}

bool is_open_for_writing(int file) noexcept {
    const int flags = ::fcntl(file, F_GETFL);
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

void write_bytes(int file, const fs::path& path, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t size = ::write(file, bytes.data(), bytes.size());
        if (size < 0) {
            fail(path, errno);
        }
        bytes = bytes.subspan(static_cast<std::size_t>(size));
    }
}

void write_message(int file, const fs::path& path, const message& body) {
    if (::isatty(file) == 0) {
        for (const auto& block : body.blocks()) {
            write_bytes(file, path, block);
        }
        return;
    }
    const std::string text = printable(body.text(), line_ends::keep);
    write_bytes(file, path, std::as_bytes(std::span(text)));
}

mode_t default_mode() noexcept {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

/// Gives the new file the mode, group and owner of the old file, if it exists.
void copy_attributes(int file, const fs::path& path) {
    struct stat old{};
    mode_t mode = default_mode();
    if (::stat(path.c_str(), &old) == 0) {
        mode = old.st_mode & 0777;
        if (::fchown(file, static_cast<uid_t>(-1), old.st_gid) != 0) {
            mode &= ~mode_t{S_IRWXG}; // these permissions were meant for another group
        }
        std::ignore = ::fchown(file, old.st_uid, static_cast<gid_t>(-1)); // succeeds only for root
    }
    if (::fchmod(file, mode) != 0) {
        fail(path, errno);
    }
}

} // namespace

output::output(const std::string& path) : path_(path) {
    if (path_.empty()) {
        if (!is_open_for_writing(STDOUT_FILENO)) {
            throw std::runtime_error("cannot write standard output: it is not open for writing; "
                                     "redirect it, or name a file with --receive");
        }
        return;
    }
    const fs::path target = follow_links(path_);
    descriptor_ = named_descriptor(target);
    if (descriptor_ >= 0) {
        if (!is_open_for_writing(descriptor_)) {
            fail(path_, EBADF);
        }
        return;
    }
    struct stat status{};
    const bool exists = ::stat(path_.c_str(), &status) == 0;
    if (!exists && errno != ENOENT) {
        fail(path_, errno);
    }
    if (exists && S_ISDIR(status.st_mode)) {
        fail(path_, EISDIR);
    }
    is_replaced_ = (!exists || S_ISREG(status.st_mode)) && !is_in_procfs(target);
    if (is_replaced_) {
        path_ = target;
        const temporary_file attempt(path_);
    } else if (::access(path_.c_str(), W_OK) != 0) {
        fail(path_, errno);
    }
}

void output::write(const message& body) const {
    if (path_.empty()) {
        return write_message(STDOUT_FILENO, path_, body);
    }
    if (descriptor_ >= 0) {
        return write_message(descriptor_, path_, body);
    }
    if (is_replaced_) {
        return replace(body);
    }
    const descriptor file(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (file.get() < 0) {
        fail(path_, errno);
    }
    write_message(file.get(), path_, body);
}

void output::replace(const message& body) const {
    temporary_file file(path_);
    write_message(file.file(), path_, body);
    copy_attributes(file.file(), path_);
    if (::fsync(file.file()) != 0) {
        fail(path_, errno);
    }
    file.replace_target();
}

} // namespace pairing
