// SPDX-License-Identifier: MIT
//
// Two stages swap full buffers for empty ones.
//
// This is the example in the documentation of java.util.concurrent.Exchanger, with a real file. One
// stage reads FILE into a buffer, and the other hashes a buffer. When both are ready, they swap.
// Each stage has its own thread. There are only two buffers, whatever the size of the file, and the
// faster stage waits for the slower one. At the end the program compares its hash with that of the
// system's sha256sum.

#include <tryst/tryst.hpp>

#include <fcntl.h>
#include <openssl/evp.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

using clock = std::chrono::steady_clock;

/// A block of the file that passes from one stage to the other. An empty block marks the end.
class buffer {
public:
    static constexpr std::size_t capacity = std::size_t{256} * 1024;

    buffer() : bytes_(std::make_unique<storage>()) {}

    char* data() const noexcept { return bytes_->data(); }
    std::size_t size() const noexcept { return size_; }
    void resize(std::size_t size) noexcept { size_ = size; }

    static int allocated() noexcept { return storage::count; }

private:
    struct storage : std::array<char, capacity> {
        storage() { ++count; }
        static inline std::atomic<int> count{0};
    };

    std::unique_ptr<storage> bytes_;
    std::size_t size_ = 0;
};

class file {
public:
    explicit file(const char* path) : descriptor_(::open(path, O_RDONLY | O_CLOEXEC)) {
        if (descriptor_ < 0) {
            throw std::system_error(errno, std::generic_category(), "cannot open");
        }
        struct stat status{};
        if (::fstat(descriptor_, &status) != 0) {
            throw std::system_error(errno, std::generic_category(), "cannot examine");
        }
        if (S_ISDIR(status.st_mode)) {
            throw std::runtime_error("cannot hash a directory; name a regular file");
        }
        if (!S_ISREG(status.st_mode)) {
            throw std::runtime_error("cannot hash a pipe, socket or device; name a regular file");
        }
        size_ = static_cast<std::size_t>(status.st_size);
    }
    file(const file&) = delete;
    file& operator=(const file&) = delete;
    ~file() { ::close(descriptor_); }

    int descriptor() const noexcept { return descriptor_; }
    std::size_t size() const noexcept { return size_; }

    void read_into(buffer& block) {
        ssize_t count = 0;
        do {
            count = ::read(descriptor_, block.data(), buffer::capacity);
        } while (count < 0 && errno == EINTR);
        if (count < 0) {
            throw std::system_error(errno, std::generic_category(), "cannot read");
        }
        block.resize(static_cast<std::size_t>(count));
    }

private:
    int descriptor_;
    std::size_t size_ = 0;
};

class sha256 {
public:
    sha256() { check(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr)); }

    void update(const char* data, std::size_t size) {
        check(EVP_DigestUpdate(context_.get(), data, size));
    }

    std::string hex() {
        std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
        unsigned size = 0;
        check(EVP_DigestFinal_ex(context_.get(), digest.data(), &size));
        std::ostringstream text;
        for (unsigned i = 0; i != size; ++i) {
            text << std::hex << std::setfill('0') << std::setw(2) << unsigned{digest.at(i)};
        }
        return text.str();
    }

private:
    static void check(int status) {
        if (status != 1) {
            throw std::runtime_error("libcrypto cannot compute SHA-256");
        }
    }

    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_{EVP_MD_CTX_new(),
                                                                     &EVP_MD_CTX_free};
};

struct report {
    std::string digest;
    std::size_t bytes = 0;
    std::size_t exchanges = 0;
    clock::duration elapsed{};
};

double megabytes(std::size_t bytes) {
    return static_cast<double>(bytes) / 1e6;
}

double seconds(clock::duration time) {
    return std::chrono::duration<double>(time).count();
}

/// Redraws a line on a terminal, at most ten times per second.
class progress {
public:
    explicit progress(std::size_t total) : total_(total) {}
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;
    ~progress() {
        if (drawn_) {
            std::cerr << '\n';
        }
    }

    void show(const report& so_far) {
        const auto now = clock::now();
        const bool last = so_far.bytes >= total_;
        if (!terminal_ || (now < next_ && !last)) {
            return;
        }
        next_ = now + std::chrono::milliseconds(100);
        drawn_ = true;
        std::cerr << '\r' << std::fixed << std::setprecision(1) << std::setw(10)
                  << megabytes(so_far.bytes) << " of " << megabytes(total_) << " MB, "
                  << so_far.exchanges << " exchanges " << std::flush;
    }

private:
    std::size_t total_;
    bool terminal_ = ::isatty(STDERR_FILENO) == 1;
    bool drawn_ = false;
    clock::time_point next_{};
};

/// Stage one. If reading fails, it closes the exchanger, so that stage two does not wait forever.
tryst::task<> fill(tryst::exchanger<buffer>& swap, file& input) {
    try {
        buffer mine;
        do {
            input.read_into(mine);
            const bool last = mine.size() == 0;
            auto got = co_await swap.exchange(std::move(mine));
            if (!got || last) {
                co_return;
            }
            mine = *std::move(got);
        } while (true);
    } catch (...) {
        swap.close();
        throw;
    }
}

/// Stage two. If hashing fails, it closes the exchanger, so that stage one does not wait forever.
tryst::task<report> empty(tryst::exchanger<buffer>& swap, std::size_t total) {
    try {
        const auto start = clock::now();
        report result;
        sha256 hash;
        progress line(total);
        buffer mine;
        while (auto got = co_await swap.exchange(std::move(mine))) {
            mine = *std::move(got);
            ++result.exchanges;
            if (mine.size() == 0) {
                break;
            }
            hash.update(mine.data(), mine.size());
            result.bytes += mine.size();
            line.show(result);
        }
        result.digest = hash.hex();
        result.elapsed = clock::now() - start;
        co_return result;
    } catch (...) {
        swap.close();
        throw;
    }
}

report hash_in_two_stages(file& input) {
    tryst::exchanger<buffer> swap;
    std::exception_ptr failure;
    std::thread filler([&] {
        try {
            tryst::sync_wait(fill(swap, input));
        } catch (...) {
            failure = std::current_exception();
        }
    });
    std::optional<report> result;
    std::exception_ptr other;
    try {
        result = tryst::sync_wait(empty(swap, input.size()));
    } catch (...) {
        other = std::current_exception();
    }
    filler.join();
    for (const std::exception_ptr& each : {failure, other}) {
        if (each) {
            std::rethrow_exception(each);
        }
    }
    return *result;
}

/// Runs the system's sha256sum. @returns nullopt if that fails.
std::optional<std::string> system_digest(const char* path) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return std::nullopt;
    }
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, path, O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::string name = "sha256sum";
    std::array<char*, 2> arguments{name.data(), nullptr};
    pid_t child = 0;
    const int failed =
        ::posix_spawnp(&child, name.c_str(), &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    std::string output;
    std::array<char, 256> chunk{};
    ssize_t count = 0;
    while (failed == 0 && (count = ::read(ends[0], chunk.data(), chunk.size())) > 0) {
        output.append(chunk.data(), static_cast<std::size_t>(count));
    }
    ::close(ends[0]);
    int status = 1;
    if (failed != 0 || ::waitpid(child, &status, 0) < 0 || status != 0) {
        return std::nullopt;
    }
    return output.substr(0, output.find(' '));
}

int run(const char* path) {
    file input(path);
    const report result = hash_in_two_stages(input);
    if (result.bytes == 0) {
        throw std::runtime_error("the file is empty; name a file with contents");
    }
    std::cout << std::fixed << std::setprecision(1) << "file        " << path << '\n'
              << "size        " << megabytes(result.bytes) << " MB in " << std::setprecision(3)
              << seconds(result.elapsed) << " s, " << std::setprecision(1)
              << megabytes(result.bytes) / seconds(result.elapsed) << " MB/s\n"
              << "exchanges   " << result.exchanges << ", full for empty\n"
              << "buffers     " << buffer::allocated() << " of " << buffer::capacity / 1024
              << " KiB\n"
              << "sha256      " << result.digest << '\n';
    const std::optional<std::string> expected = system_digest(path);
    if (!expected) {
        std::cout << "result      not checked: cannot run sha256sum; install coreutils\n";
        return EXIT_FAILURE;
    }
    const bool same = *expected == result.digest;
    std::cout << "sha256sum   " << *expected << '\n'
              << "result      " << (same ? "identical" : "DIFFERENT") << '\n';
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}

} // namespace

int main(int count, char** arguments) {
    if (count > 2) {
        std::cerr << "usage: " << arguments[0] << " [FILE]\n";
        return 2;
    }
    const char* const path = count == 2 ? arguments[1] : TRYST_DEFAULT_FILE;
    try {
        return run(path);
    } catch (const std::exception& problem) {
        std::cerr << path << ": " << problem.what() << '\n';
        return EXIT_FAILURE;
    }
}
