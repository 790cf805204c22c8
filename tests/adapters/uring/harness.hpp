// SPDX-License-Identifier: MIT
/// @file
/// Shared by the tests of tryst::uring: files of all kinds, and contexts that run.
#pragma once

#include <tryst/task.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/// Skips a test on a kernel that lacks something; fails where nothing may be skipped.
#define TRYST_NEEDS(condition, what)                                                               \
    if (!(condition)) {                                                                            \
        if (std::getenv("TRYST_NO_SKIP") != nullptr) {                                             \
            FAIL() << "this kernel has no " << (what);                                             \
        }                                                                                          \
        GTEST_SKIP() << "this kernel has no " << (what);                                           \
    }                                                                                              \
    static_assert(true)

namespace tryst::test {

using uring::context;
using uring::descriptor;

// ---- Bytes

inline std::span<const std::byte> bytes_of(std::string_view text) noexcept {
    return std::as_bytes(std::span(text));
}
inline std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// ---- Files

/// Returns `number`, the result of a system call; throws if the call failed.
inline int checked(int number, const char* what) {
    if (number < 0) {
        throw std::system_error(errno, std::system_category(), what);
    }
    return number;
}

/// Two connected files: the first reads the data that is written to the second.
struct file_pair {
    descriptor reader;
    descriptor writer;
};

inline file_pair make_pipe() {
    std::array<int, 2> ends{};
    checked(::pipe2(ends.data(), O_CLOEXEC), "pipe2");
    return {descriptor(ends[0]), descriptor(ends[1])};
}

inline file_pair make_sockets() {
    std::array<int, 2> ends{};
    checked(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), "socketpair");
    return {descriptor(ends[0]), descriptor(ends[1])};
}

inline void write_text(const descriptor& file, std::string_view text) {
    EXPECT_EQ(::write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

/// Calls `body` while operations on `file` do not wait.
template <class Body>
auto without_waiting(const descriptor& file, Body body) {
    const int flags = ::fcntl(file.get(), F_GETFL);
    ::fcntl(file.get(), F_SETFL, flags | O_NONBLOCK);
    const auto result = body();
    ::fcntl(file.get(), F_SETFL, flags);
    return result;
}

/// Reads at most `size` bytes without waiting. @returns the empty string if there is no data.
inline std::string read_text(const descriptor& file, std::size_t size = 4096) {
    std::string text(size, '\0');
    const ssize_t got =
        without_waiting(file, [&] { return ::read(file.get(), text.data(), size); });
    text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return text;
}

/// Writes until the file is full. @returns the number of bytes written.
inline std::size_t fill(const descriptor& file) {
    const std::string text(4096, 'x');
    const auto write = [&] { return ::write(file.get(), text.data(), text.size()); };
    std::size_t size = 0;
    for (ssize_t written = 0; (written = without_waiting(file, write)) > 0;) {
        size += static_cast<std::size_t>(written);
    }
    return size;
}

/// A file in memory.
inline descriptor make_file(std::string_view text = {}) {
    descriptor file(checked(::memfd_create("test", MFD_CLOEXEC), "memfd_create"));
    EXPECT_EQ(::pwrite(file.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return file;
}

inline std::string content_of(const descriptor& file) {
    std::string text(4096, '\0');
    text.resize(static_cast<std::size_t>(
        checked(static_cast<int>(::pread(file.get(), text.data(), text.size(), 0)), "pread")));
    return text;
}

inline bool is_open(int file) noexcept {
    return ::fcntl(file, F_GETFD) >= 0;
}

/// An empty directory; the destructor removes it with its content.
class directory {
public:
    directory() {
        if (::mkdtemp(path_.data()) == nullptr) {
            throw std::system_error(errno, std::system_category(), "mkdtemp");
        }
        file_.reset(checked(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC), "open"));
    }
    directory(const directory&) = delete;
    directory& operator=(const directory&) = delete;
    ~directory() { std::filesystem::remove_all(path_); }

    int get() const noexcept { return file_.get(); }
    std::string path_to(const char* name) const { return path_ + "/" + name; }
    bool has(const char* name) const {
        return ::faccessat(get(), name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    }
    descriptor make(const char* name) const {
        return descriptor(
            checked(::openat(get(), name, O_CREAT | O_RDWR | O_CLOEXEC, 0600), "openat"));
    }
    /// A FIFO that nobody writes to: opening it for reading blocks.
    std::string make_fifo() const {
        checked(::mkfifoat(get(), "fifo", 0600), "mkfifoat");
        return path_to("fifo");
    }

private:
    std::string path_ = std::filesystem::temp_directory_path() / "tryst-uring-XXXXXX";
    descriptor file_;
};

/// The number of open files of this process.
inline long count_open() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

/// A TCP port of this machine.
class listener {
public:
    explicit listener(int backlog = 1024) : socket_(make_socket()) {
        address_.sin_family = AF_INET;
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        checked(::bind(socket_.get(), address(), size()), "bind");
        socklen_t length = size();
        checked(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address_), &length),
                "getsockname");
        checked(::listen(socket_.get(), backlog), "listen");
    }

    static descriptor make_socket(int flags = 0) {
        return descriptor(
            checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0), "socket"));
    }

    int get() const noexcept { return socket_.get(); }
    const sockaddr* address() const noexcept {
        return reinterpret_cast<const sockaddr*>(&address_);
    }
    static constexpr socklen_t size() noexcept { return sizeof(sockaddr_in); }

    /// A client, which connects before it is accepted, as long as the backlog has room.
    descriptor connect() const {
        descriptor client = make_socket();
        checked(::connect(client.get(), address(), size()), "connect");
        return client;
    }

    void close() noexcept { socket_.reset(); }

private:
    descriptor socket_;
    sockaddr_in address_{};
};

/// A port that does not answer, because its backlog is full.
class busy_listener : public listener {
public:
    busy_listener() : listener(0) {
        for (descriptor& each : clients_) {
            each = make_socket(SOCK_NONBLOCK);
            const int done = ::connect(each.get(), address(), size());
            EXPECT_TRUE(done == 0 || errno == EINPROGRESS);
        }
    }

private:
    std::array<descriptor, 4> clients_;
};

// ---- Contexts

/// Expects that `body` throws an error of the system call `name`.
template <class Body>
void expect_throws(int code, const char* name, Body body) {
    try {
        body();
        ADD_FAILURE() << name << " did not fail";
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code(), std::error_code(code, std::system_category()));
        EXPECT_TRUE(std::string(error.what()).starts_with(name)) << error.what();
    }
}

template <class Condition>
void yield_until(Condition holds) {
    while (!holds()) {
        std::this_thread::yield();
    }
}

/// The outcome of an operation; empty until it is over.
template <class Operation>
using outcome_of = std::optional<decltype(std::declval<Operation&>().await_resume())>;

/// Awaits the operation that `make` returns.
template <class Make>
task<> party(outcome_of<std::invoke_result_t<Make&>>& got, Make make) {
    got.emplace(co_await make());
}

template <class Make>
task<> party_that_stops(context& loop, outcome_of<std::invoke_result_t<Make&>>& got, Make make) {
    got.emplace(co_await make());
    loop.stop();
}

/// Runs `loop` until the operation that `make` returns is over.
template <class Make>
auto run_one(context& loop, Make make) {
    outcome_of<std::invoke_result_t<Make&>> got;
    loop.spawn(party_that_stops(loop, got, std::move(make)));
    loop.run();
    return std::move(*got);
}

/// A read of a pipe that is empty, so it waits.
struct waiting_read {
    /// Awaits it on `loop`, and stops that.
    void start(context& loop, const uring::limits& until = {}) {
        loop.spawn(party_that_stops(loop, got, [this, &loop, until] {
            return loop.read(pipe.reader.get(), bytes, uring::current_position, until);
        }));
    }
    void expect_word() const {
        ASSERT_TRUE(got);
        ASSERT_TRUE(*got) << got->message();
        EXPECT_EQ(text_of(std::span(bytes).first(**got)), "word");
    }

    file_pair pipe = make_pipe();
    std::array<std::byte, 8> bytes{};
    std::optional<uring::result<std::size_t>> got;
};

/// Stops the loop when its turn comes.
inline task<> stop_loop(context& loop) {
    loop.stop();
    co_return;
}

/// Runs the loop only to leave it.
inline void leave(context& loop) {
    loop.stop();
    loop.run();
}

/// Calls `body` on the loop.
template <class Body>
task<> call(Body body) {
    body();
    co_return;
}

/// A thread that only runs a context, which another thread has made.
class context_thread {
public:
    explicit context_thread(uring::context_options options = {}) : loop_(options) {}
    context_thread(const context_thread&) = delete;
    context_thread& operator=(const context_thread&) = delete;
    ~context_thread() { join(); }

    context& operator*() noexcept { return loop_; }
    context* operator->() noexcept { return &loop_; }

    void join() {
        if (thread_.joinable()) {
            loop_.stop();
            thread_.join();
        }
    }

private:
    context loop_;
    std::thread thread_{[this] { loop_.run(); }};
};

/// Options of a context that sleeps as soon as there is nothing to do.
inline constexpr uring::context_options sleepy{.max_spins = 0};

} // namespace tryst::test
