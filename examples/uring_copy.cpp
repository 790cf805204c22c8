// SPDX-License-Identifier: MIT
//
// Copies a file with two loops on two threads. One loop reads, the other writes, and they swap full
// buffers for empty ones. The buffers are registered with the kernel once. While it copies, the
// program allocates no memory, and the kernel looks up no pages.
#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

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

tryst::task<> drain(uring::context& loop, int file, piece mine, meeting& ex) {
    std::uint64_t offset = 0; // which a pipe ignores
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

std::system_error failure(const std::string& path) {
    return {errno, std::system_category(), path};
}

/// A new file, which is removed unless the copy is complete. What is not a regular file, such as a
/// pipe, /dev/null or /dev/stdout, is written to directly.
class target {
public:
    target(const char* path, mode_t mode) : path_(path) {
        file_.reset(::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 0777));
        is_new_ = bool(file_);
        struct stat old{};
        if (!is_new_ && errno == EEXIST && ::stat(path, &old) == 0 && !S_ISREG(old.st_mode)) {
            file_.reset(::open(path, O_WRONLY | O_CLOEXEC));
        }
        if (!file_) {
            throw failure(path_);
        }
    }
    target(const target&) = delete;
    target& operator=(const target&) = delete;
    ~target() {
        if (is_new_) {
            ::unlink(path_.c_str());
        }
    }

    int get() const noexcept { return file_.get(); }
    void keep() noexcept { is_new_ = false; }

private:
    std::string path_;
    uring::descriptor file_;
    bool is_new_;
};

void copy(const char* from, const char* to) {
    const uring::descriptor source(::open(from, O_RDONLY | O_CLOEXEC));
    struct stat status{};
    if (!source || ::fstat(source.get(), &status) != 0) {
        throw failure(from);
    }
    target copied(to, status.st_mode);
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
