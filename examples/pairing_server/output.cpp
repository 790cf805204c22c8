// SPDX-License-Identifier: MIT
#include "output.hpp"

#include "printable.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>
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

/// A file descriptor that is closed at the end.
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

/// A new file in the folder of the file that it is to replace. At first only its owner can read it. The
/// destructor removes it, unless it has replaced the other.
class temporary {
public:
    explicit temporary(const fs::path& target)
        : target_(target), name_((target.parent_path() / ".pairing_client.XXXXXX").string()),
          file_(::mkostemp(name_.data(), O_CLOEXEC)) {
        if (file_.get() < 0) {
            fail(target_, errno);
        }
    }
    temporary(const temporary&) = delete;
    temporary& operator=(const temporary&) = delete;
    ~temporary() {
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

/// The file to which symbolic links lead, which need not exist.
fs::path behind_links(fs::path path) {
    constexpr int most = 40; // as in the kernel
    for (int links = 0; fs::is_symlink(fs::symlink_status(path)); ++links) {
        if (links == most) {
            fail(path, ELOOP);
        }
        path = path.parent_path() / fs::read_symlink(path);
    }
    return path;
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

mode_t usual_mode() noexcept {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

/// Gives the new file the mode, group and owner of the old one, if there is one.
void resemble(int file, const fs::path& path) {
    struct stat old{};
    mode_t mode = usual_mode();
    if (::stat(path.c_str(), &old) == 0) {
        mode = old.st_mode & 0777;
        if (::fchown(file, static_cast<uid_t>(-1), old.st_gid) != 0) {
            mode &= ~mode_t{S_IRWXG}; // rights that were meant for another group
        }
        std::ignore = ::fchown(file, old.st_uid, static_cast<gid_t>(-1)); // only root may
    }
    if (::fchmod(file, mode) != 0) {
        fail(path, errno);
    }
}

} // namespace

output::output(const std::string& path) : path_(path) {
    if (path_.empty()) {
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
    is_replaced_ = !exists || S_ISREG(status.st_mode);
    if (is_replaced_) {
        path_ = behind_links(path_);
        const temporary attempt(path_);
    }
}

void output::write(const message& body) const {
    if (path_.empty()) {
        return write_message(STDOUT_FILENO, path_, body);
    }
    if (is_replaced_) {
        return replace(body);
    }
    const descriptor file(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0) {
        fail(path_, errno);
    }
    write_message(file.get(), path_, body);
}

void output::replace(const message& body) const {
    temporary file(path_);
    write_message(file.file(), path_, body);
    resemble(file.file(), path_);
    if (::fsync(file.file()) != 0) {
        fail(path_, errno);
    }
    file.replace_target();
}

} // namespace pairing
