// SPDX-License-Identifier: MIT
//
// Copies a file with two loops on two threads. One loop reads, the other writes, and they swap full
// buffers for empty ones. The buffers are registered with the kernel once. While it copies, the
// program allocates no memory, and the kernel looks up no pages.
#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
namespace uring = tryst::uring;

/// A buffer that passes between the stages, and the bytes in it. Size 0 marks the end of the file.
struct piece {
    uring::buffer memory;
    std::size_t size = 0;
};
using meeting = tryst::exchanger<piece>;

tryst::task<> fill(uring::context& loop, int file, piece mine, meeting& ex) {
    std::uint64_t offset = 0;
    while (true) {
        const auto got = co_await loop.read_fixed(file, mine.memory, mine.memory.bytes(), offset);
        mine.size = got.value();
        offset += mine.size;
        const bool end = mine.size == 0;
        auto swapped = co_await ex.exchange(std::move(mine)); // full for empty
        if (end || !swapped) {
            break;
        }
        mine = std::move(*swapped);
    }
}

/// Starts at the current position of the file and advances it, so that the next writer appends:
/// `(uring_copy a /dev/stdout; uring_copy b /dev/stdout) > both`.
tryst::task<> drain(uring::context& loop, int file, piece mine, meeting& ex) {
    // A pipe has no position; writes ignore the offset.
    auto offset = static_cast<std::uint64_t>(std::max(::lseek(file, 0, SEEK_CUR), off_t{0}));
    while (true) {
        auto swapped = co_await ex.exchange(std::move(mine)); // empty for full
        if (!swapped || swapped->size == 0) {
            break;
        }
        mine = std::move(*swapped);
        for (auto rest = mine.memory.bytes().first(mine.size); !rest.empty();) {
            const auto put = co_await loop.write_fixed(file, mine.memory, rest, offset);
            offset += put.value();
            rest = rest.subspan(*put);
        }
        ::lseek(file, static_cast<off_t>(offset), SEEK_SET);
    }
}

/// Runs a stage to its end. If it fails, closes the exchanger, so that the other stage ends too.
tryst::task<> run(uring::context& loop, tryst::task<> stage, meeting& ex, std::exception_ptr& why) {
    try {
        co_await std::move(stage);
    } catch (...) {
        why = std::current_exception();
        ex.close();
    }
    loop.stop();
}

void check(bool succeeded, const std::string& path) {
    if (!succeeded) {
        throw std::system_error(errno, std::system_category(), path);
    }
}

struct stat status_of(const uring::descriptor& file, const std::string& path) {
    struct stat status{};
    check(::fstat(file.get(), &status) == 0, path);
    return status;
}

fs::path folder_of(const fs::path& path) {
    return path.has_parent_path() ? path.parent_path() : ".";
}

bool is_in_procfs(const fs::path& path) {
    struct statfs system{};
    return ::statfs(folder_of(path).c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/// Follows symbolic links, except those in procfs: they lead to open files, which need not have a
/// name.
fs::path follow_links(fs::path path) {
    constexpr int max_links = 40; // the kernel's limit
    for (int i = 0; i != max_links && fs::is_symlink(path) && !is_in_procfs(path); ++i) {
        path = path.parent_path() / fs::read_symlink(path);
    }
    return path;
}

/// Opens an existing file. If the path names a descriptor of this process, such as /proc/self/fd/1,
/// duplicates the descriptor, because the duplicate shares its position.
int open_to_write(const fs::path& path) {
    std::error_code ignored;
    if (fs::is_symlink(path, ignored) &&
        fs::equivalent(folder_of(path), "/proc/self/fd", ignored)) {
        return ::fcntl(std::stoi(path.filename()), F_DUPFD_CLOEXEC, 0);
    }
    return ::open(path.c_str(), O_WRONLY | O_CLOEXEC | (is_in_procfs(path) ? O_APPEND : 0));
}

mode_t umask_of_process() noexcept {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return mask;
}

/// The file that receives the copy: a temporary file in the target's folder, which replaces the
/// target once the copy is complete. The copy has the mode of the old target, or else that of the
/// source, masked by the umask. A target that is not a regular file (a terminal, a pipe, /dev/null)
/// or is open already (/dev/stdout) is not replaced, but written to directly.
class target {
public:
    target(const char* path, const struct stat& source) : path_(follow_links(path)) {
        file_.reset(open_to_write(path_));
        const bool exists = bool(file_);
        struct stat old{};
        if (exists) {
            old = status_of(file_, path);
            if (old.st_dev == source.st_dev && old.st_ino == source.st_ino) {
                throw std::runtime_error(std::string(path) +
                                         ": cannot copy a file to itself; name another target");
            }
            if (!S_ISREG(old.st_mode) || is_in_procfs(path_)) {
                return;
            }
        } else {
            check(errno == ENOENT && !is_in_procfs(path_), path);
        }
        std::string name = folder_of(path_) / ".uring_copy.XXXXXX";
        file_.reset(::mkostemp(name.data(), O_CLOEXEC)); // mode 0600 until the copy is complete
        check(bool(file_), path_);
        temporary_ = name;
        mode_ = (exists ? old.st_mode : source.st_mode & ~umask_of_process()) & 0777;
        if (exists && ::fchown(file_.get(), old.st_uid, old.st_gid) != 0) {
            mode_ &= ~mode_t{S_IRWXG}; // these permissions were meant for another group
        }
    }
    target(const target&) = delete;
    target& operator=(const target&) = delete;
    ~target() {
        if (!temporary_.empty()) {
            ::unlink(temporary_.c_str());
        }
    }

    int get() const noexcept { return file_.get(); }

    /// Replaces the target by the complete copy. If this is not called, the target is unchanged.
    void keep() {
        if (!temporary_.empty()) {
            check(::fchmod(file_.get(), mode_) == 0, temporary_);
            check(::rename(temporary_.c_str(), path_.c_str()) == 0, path_);
            temporary_.clear();
        }
    }

private:
    uring::descriptor file_;
    fs::path path_;
    fs::path temporary_; // empty if the target is written to directly
    mode_t mode_ = 0; // mode of the complete copy
};

void copy(const char* from, const char* to) {
    const uring::descriptor source(::open(from, O_RDONLY | O_CLOEXEC));
    check(bool(source), from);
    target copied(to, status_of(source, from));
    uring::buffer_pool pool(2, std::size_t{256} * 1024);
    meeting ex(0); // one slot is enough for two parties
    std::exception_ptr reading;
    std::exception_ptr writing;
    uring::context reader;
    uring::context writer;
    for (uring::context* const each : {&reader, &writer}) {
        if (const auto registered = each->register_buffers(pool); !registered) {
            std::cerr << registered.message() << "; continuing with unregistered buffers\n";
        }
    }
    reader.spawn(run(reader, fill(reader, source.get(), {pool.acquire()}, ex), ex, reading));
    writer.spawn(run(writer, drain(writer, copied.get(), {pool.acquire()}, ex), ex, writing));
    std::thread other([&writer] { writer.run(); });
    reader.run();
    other.join();
    for (const std::exception_ptr& each : {reading, writing}) {
        if (each) {
            std::rethrow_exception(each);
        }
    }
    copied.keep();
}

} // namespace

int main(int count, char** arguments) {
    if (count != 3) {
        std::cerr << "usage: " << arguments[0] << " FROM TO\n";
        return 2;
    }
    try {
        copy(arguments[1], arguments[2]);
        return 0;
    } catch (const std::exception& problem) {
        std::cerr << arguments[0] << ": " << problem.what() << '\n';
        return 1;
    }
}
