// SPDX-License-Identifier: MIT
// Operations on directories and on properties of files. None of them waits.
#include <tryst/uring/context.hpp>

#include "adapters/uring/expectations.hpp"
#include "adapters/uring/harness.hpp"
#include "adapters/uring/kernel_faults.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test;
using tryst::task;
using tryst::uring::limits;
using tryst::uring::result;

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

private:
    std::string path_ = "/tmp/tryst-uring-XXXXXX";
    descriptor file_;
};

class UringFile : public testing::Test {
public:
    template <class Make>
    auto run(Make make) {
        return run_one(loop, std::move(make));
    }

    context loop;
    directory here;
    struct statx status{};
};

TEST_F(UringFile, TellsAFilesSize) {
    write_text(here.make("file"), "word");
    expect_succeeded(
        run([&] { return loop.statx(here.get(), "file", 0, STATX_SIZE | STATX_TYPE, &status); }),
        "statx");
    EXPECT_NE(status.stx_mask & STATX_SIZE, 0U);
    EXPECT_EQ(status.stx_size, 4U);
    EXPECT_TRUE(S_ISREG(status.stx_mode));
}

TEST_F(UringFile, TellsAnOpenFilesSize) {
    const descriptor file = make_file("hello");
    expect_succeeded(
        run([&] { return loop.statx(file.get(), "", AT_EMPTY_PATH, STATX_SIZE, &status); }),
        "statx");
    EXPECT_EQ(status.stx_size, 5U);
}

TEST_F(UringFile, MakesRenamesAndRemoves) {
    expect_succeeded(run([&] { return loop.mkdirat(here.get(), "old", 0700); }), "mkdirat");
    expect_failed(run([&] { return loop.mkdirat(here.get(), "old", 0700); }), "mkdirat", EEXIST);
    expect_succeeded(
        run([&] { return loop.statx(here.get(), "old", 0, STATX_MODE | STATX_TYPE, &status); }),
        "statx");
    EXPECT_EQ(status.stx_mode, S_IFDIR | 0700);
    const std::string path = here.path_to("new");
    expect_succeeded(run([&] { return loop.renameat(here.get(), "old", AT_FDCWD, path.c_str()); }),
                     "renameat");
    EXPECT_FALSE(here.has("old"));
    EXPECT_TRUE(here.has("new"));
    expect_failed(run([&] { return loop.unlinkat(here.get(), "new"); }), "unlinkat", EISDIR);
    expect_succeeded(run([&] { return loop.unlinkat(here.get(), "new", AT_REMOVEDIR); }),
                     "unlinkat");
    EXPECT_FALSE(here.has("new"));
}

TEST_F(UringFile, ReplacesAFileOnlyIfAllowedTo) {
    write_text(here.make("a"), "from a");
    write_text(here.make("b"), "from b");
    expect_failed(
        run([&] { return loop.renameat(here.get(), "a", here.get(), "b", RENAME_NOREPLACE); }),
        "renameat", EEXIST);
    expect_succeeded(
        run([&] { return loop.renameat(here.get(), "a", here.get(), "b", RENAME_EXCHANGE); }),
        "renameat");
    EXPECT_EQ(content_of(here.make("a")), "from b");
    expect_succeeded(run([&] { return loop.renameat(here.get(), "b", here.get(), "a"); }),
                     "renameat");
    EXPECT_EQ(content_of(here.make("a")), "from a");
    expect_succeeded(run([&] { return loop.unlinkat(here.get(), "a"); }), "unlinkat");
    EXPECT_FALSE(here.has("a"));
}

TEST_F(UringFile, AllocatesRoom) {
    const descriptor file = make_file("word");
    expect_succeeded(run([&] { return loop.fallocate(file.get(), 0, 0, 10'000); }), "fallocate");
    expect_succeeded(
        run([&] { return loop.statx(file.get(), "", AT_EMPTY_PATH, STATX_SIZE, &status); }),
        "statx");
    EXPECT_EQ(status.stx_size, 10'000U);
    expect_succeeded(run([&] {
                         return loop.fallocate(file.get(),
                                               FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1, 2);
                     }),
                     "fallocate");
    EXPECT_EQ(content_of(file).substr(0, 4), std::string("w\0\0d", 4));
}

TEST_F(UringFile, SaysWhyItFailed) {
    const auto stat = [&](int at, const char* path, int flags, struct statx* into) {
        return run([&, at] { return loop.statx(at, path, flags, STATX_SIZE, into); });
    };
    expect_failed(stat(here.get(), "missing", 0, &status), "statx", ENOENT);
    expect_failed(stat(-1, "missing", 0, &status), "statx", EBADF);
    expect_failed(stat(here.get(), nullptr, 0, &status), "statx", EFAULT);
    expect_failed(stat(here.get(), ".", 0, nullptr), "statx", EFAULT);
    expect_failed(stat(here.get(), ".", 0x4000'0000, &status), "statx", EINVAL);
    const std::string long_name(300, 'x');
    expect_failed(stat(here.get(), long_name.c_str(), 0, &status), "statx", ENAMETOOLONG);

    const int at = here.get();
    expect_failed(run([&] { return loop.unlinkat(at, "missing"); }), "unlinkat", ENOENT);
    expect_failed(run([&] { return loop.unlinkat(-1, "missing"); }), "unlinkat", EBADF);
    expect_failed(run([&] { return loop.unlinkat(at, "missing", 1); }), "unlinkat", EINVAL);
    expect_failed(run([&] { return loop.mkdirat(at, "missing/new", 0700); }), "mkdirat", ENOENT);
    expect_failed(run([&] { return loop.mkdirat(at, "", 0700); }), "mkdirat", ENOENT);
    expect_failed(run([&] { return loop.mkdirat(at, nullptr, 0700); }), "mkdirat", EFAULT);
    expect_failed(run([&] { return loop.renameat(at, "missing", at, "new"); }), "renameat", ENOENT);
    expect_failed(run([&] { return loop.renameat(at, "missing", -1, "new"); }), "renameat", EBADF);
    expect_failed(run([&] { return loop.renameat(at, "a", at, "b", 0x8000); }), "renameat", EINVAL);

    const descriptor file = make_file("word");
    const descriptor unwritable(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    const file_pair pipe = make_pipe();
    const std::uint64_t most = ~std::uint64_t{0};
    expect_failed(run([&] { return loop.fallocate(-1, 0, 0, 1); }), "fallocate", EBADF);
    expect_failed(run([&] { return loop.fallocate(file.get(), 0, 0, 0); }), "fallocate", EINVAL);
    expect_failed(run([&] { return loop.fallocate(file.get(), 0, most, 1); }), "fallocate", EINVAL);
    expect_failed(run([&] { return loop.fallocate(file.get(), 0, 0, most); }), "fallocate", EINVAL);
    expect_failed(run([&] { return loop.fallocate(unwritable.get(), 0, 0, 1); }), "fallocate",
                  EBADF);
    expect_failed(run([&] { return loop.fallocate(pipe.writer.get(), 0, 0, 1); }), "fallocate",
                  ESPIPE);
}

TEST_F(UringFile, SaysThatTheKernelDoesNotKnowAnOperation) {
    kernel_faults faults;
    faults.unknown_operation = IORING_OP_MKDIRAT;
    expect_failed(run([&] { return loop.mkdirat(here.get(), "new", 0700); }), "mkdirat", ENOSYS);
    expect_failed(run([&] { return loop.unlinkat(here.get(), "new", 1); }), "unlinkat", EINVAL);
}

// ---- Ended early: each operation either succeeds or has no effect

/// One operation, and whether it has been done.
class deed {
public:
    deed() = default;
    deed(const deed&) = delete;
    deed& operator=(const deed&) = delete;
    virtual ~deed() = default;

    virtual task<std::error_code> start(context& loop, limits until) = 0;
    virtual bool is_done() const = 0;

protected:
    directory here_;
};

class make_directory : public deed {
public:
    task<std::error_code> start(context& loop, limits until) override {
        const auto got = co_await loop.mkdirat(here_.get(), "new", 0700, std::move(until));
        co_return got.error();
    }
    bool is_done() const override { return here_.has("new"); }
};

class remove_file : public deed {
public:
    task<std::error_code> start(context& loop, limits until) override {
        const auto got = co_await loop.unlinkat(here_.get(), "old", 0, std::move(until));
        co_return got.error();
    }
    bool is_done() const override { return !here_.has("old"); }

private:
    descriptor file_ = here_.make("old");
};

class rename_file : public deed {
public:
    task<std::error_code> start(context& loop, limits until) override {
        const auto got =
            co_await loop.renameat(here_.get(), "old", here_.get(), "new", 0, std::move(until));
        co_return got.error();
    }
    bool is_done() const override { return here_.has("new"); }

private:
    descriptor file_ = here_.make("old");
};

class look_at_file : public deed {
public:
    task<std::error_code> start(context& loop, limits until) override {
        const auto got =
            co_await loop.statx(here_.get(), "old", 0, STATX_TYPE, &status_, std::move(until));
        co_return got.error();
    }
    bool is_done() const override { return status_.stx_mask != 0; }

private:
    descriptor file_ = here_.make("old");
    struct statx status_{};
};

class enlarge_file : public deed {
public:
    task<std::error_code> start(context& loop, limits until) override {
        const auto got = co_await loop.fallocate(file_.get(), 0, 0, 10, std::move(until));
        co_return got.error();
    }
    bool is_done() const override { return !content_of(file_).empty(); }

private:
    descriptor file_ = here_.make("old");
};

class shut_down : public deed {
public:
    task<std::error_code> start(context& loop, limits until) override {
        const auto got = co_await loop.shutdown(pair_.writer.get(), SHUT_WR, std::move(until));
        co_return got.error();
    }
    bool is_done() const override { return ::send(pair_.writer.get(), "x", 1, MSG_NOSIGNAL) < 0; }

private:
    file_pair pair_ = make_sockets();
};

/// Makes a descriptor, or leaves none behind.
class make_socket : public deed {
public:
    task<std::error_code> start(context& loop, limits until) override {
        auto got = co_await loop.socket(AF_INET, SOCK_STREAM, 0, std::move(until));
        if (got) {
            socket_ = std::move(*got);
        }
        co_return got.error();
    }
    bool is_done() const override { return count_open() != before_; }

private:
    long before_ = count_open();
    descriptor socket_;
};

template <class Deed>
std::unique_ptr<deed> make() {
    return std::make_unique<Deed>();
}

struct kind_of_deed {
    const char* name;
    std::unique_ptr<deed> (*make)();

    friend std::ostream& operator<<(std::ostream& out, const kind_of_deed& self) {
        return out << self.name;
    }
};

class UringDeed : public testing::TestWithParam<kind_of_deed> {
public:
    task<> start(limits until) {
        got_ = co_await deed_->start(loop_, std::move(until));
        loop_.stop();
    }

    /// One at a time: a deed may count open files.
    void begin_anew() {
        deed_.reset();
        deed_ = GetParam().make();
        got_.reset();
    }

    context loop_; // has its files before the deed counts
    std::unique_ptr<deed> deed_ = GetParam().make();
    std::optional<std::error_code> got_;
};

TEST_P(UringDeed, IsDone) {
    loop_.spawn(start({}));
    loop_.run();
    ASSERT_TRUE(got_);
    EXPECT_FALSE(*got_) << got_->message();
    EXPECT_TRUE(deed_->is_done());
}

TEST_P(UringDeed, IsNotBegunAfterAStop) {
    std::stop_source stop;
    stop.request_stop();
    loop_.spawn(start(stop.get_token()));
    loop_.run();
    ASSERT_TRUE(got_);
    EXPECT_EQ(*got_, std::errc::operation_canceled);
    EXPECT_FALSE(deed_->is_done());
}

TEST_P(UringDeed, IsDoneOrTimesOutAfterItsDeadline) {
    for (int i = 0; i != 20; ++i) {
        begin_anew();
        loop_.spawn(start(-1s));
        loop_.run();
        ASSERT_TRUE(got_);
        EXPECT_TRUE(!*got_ || *got_ == std::errc::timed_out) << got_->message();
        EXPECT_EQ(deed_->is_done(), !*got_);
    }
}

TEST_P(UringDeed, IsDoneOrStoppedWhileItRuns) {
    for (int i = 0; i != 20; ++i) {
        begin_anew();
        std::stop_source stop;
        loop_.spawn(start(stop.get_token()));
        if (i % 2 == 0) {
            loop_.run_until_idle();
        }
        stop.request_stop();
        loop_.run();
        ASSERT_TRUE(got_);
        EXPECT_TRUE(!*got_ || *got_ == std::errc::operation_canceled) << got_->message();
        EXPECT_EQ(deed_->is_done(), !*got_);
    }
}

TEST_P(UringDeed, IsDoneOnceThoughTheLoopIsLeft) {
    for (int i = 0; i != 20; ++i) {
        begin_anew();
        loop_.spawn(start({}));
        loop_.spawn([](context& home) -> task<> {
            home.stop();
            co_return;
        }(loop_));
        loop_.run();
        while (!got_) {
            loop_.run();
        }
        loop_.run_until_idle();
        EXPECT_FALSE(*got_) << got_->message();
        EXPECT_TRUE(deed_->is_done());
    }
}

TEST_P(UringDeed, RefersToNothingAfterItsFrameIsDestroyed) {
    const long before = count_open();
    {
        context other;
        other.spawn([](deed& what, context& home) -> task<> {
            static_cast<void>(co_await what.start(home, {}));
        }(*deed_, other));
        other.spawn([](context& home) -> task<> {
            home.stop();
            co_return;
        }(other));
        other.run();
    }
    deed_.reset();
    EXPECT_LE(count_open(), before);
}

INSTANTIATE_TEST_SUITE_P(Operations, UringDeed,
                         testing::Values(kind_of_deed{"Mkdirat", make<make_directory>},
                                         kind_of_deed{"Unlinkat", make<remove_file>},
                                         kind_of_deed{"Renameat", make<rename_file>},
                                         kind_of_deed{"Statx", make<look_at_file>},
                                         kind_of_deed{"Fallocate", make<enlarge_file>},
                                         kind_of_deed{"Shutdown", make<shut_down>},
                                         kind_of_deed{"Socket", make<make_socket>}),
                         [](const auto& each) { return std::string(each.param.name); });

} // namespace
