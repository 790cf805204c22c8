// SPDX-License-Identifier: MIT
//
// Compresses and decompresses in stages that swap full buffers for empty ones: see stages.hpp.
#include "codec.hpp"
#include "stages.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using namespace uring_zstd;

std::system_error failure(const std::string& what) {
    return {errno, std::generic_category(), what};
}

/// A file that gets its name when it is complete; until then an old file keeps it. The kernel
/// removes it if the program ends before. Devices and pipes are written to directly.
class output {
public:
    output(std::string name, bool replaces) : name_(std::move(name)), replaces_(replaces) {
        struct stat old{};
        const bool exists = ::stat(name_.c_str(), &old) == 0;
        is_stream_ = name_ == "-" || (exists && !S_ISREG(old.st_mode));
        if (exists && S_ISDIR(old.st_mode)) {
            throw std::runtime_error(name_ + ": is a directory");
        }
        if (name_ == "-") {
            file_.reset(::dup(STDOUT_FILENO));
        } else if (is_stream_) {
            file_.reset(::open(name_.c_str(), O_WRONLY | O_CLOEXEC));
        } else if (exists && !replaces_) {
            throw std::runtime_error(name_ + ": exists already; -f replaces it");
        } else {
            const std::size_t folder = name_.rfind('/') + 1;
            const std::string in = folder == 0 ? "." : name_.substr(0, folder);
            file_.reset(::open(in.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
        }
        if (!file_) {
            throw failure(name_ + ": cannot be created");
        }
    }

    int descriptor() const noexcept { return file_.get(); }
    bool is_stream() const noexcept { return is_stream_; }

    void commit() {
        if (is_stream_) {
            return;
        }
        const std::string link = "/proc/self/fd/" + std::to_string(file_.get());
        const std::string first = replaces_ ? name_ + ".tmp" + std::to_string(::getpid()) : name_;
        if (::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, first.c_str(), AT_SYMLINK_FOLLOW) != 0) {
            throw failure(name_ + ": cannot be created");
        }
        if (replaces_ && ::rename(first.c_str(), name_.c_str()) != 0) {
            const std::system_error why = failure(name_ + ": cannot be replaced");
            ::unlink(first.c_str());
            throw why;
        }
    }

private:
    std::string name_;
    bool replaces_;
    bool is_stream_ = false;
    uring::descriptor file_;
};

/// Until the loop of its stage ends.
tryst::task<> show_progress(uring::context& loop, const pipeline& all) {
    for (;;) {
        const auto passed = co_await loop.timeout(std::chrono::milliseconds(200));
        passed.value();
        fmt::print(stderr, "\r{:.1f} MiB => {:.1f} MiB ",
                   static_cast<double>(all.bytes_in) / 1048576,
                   static_cast<double>(all.bytes_out) / 1048576);
    }
}

template <class Codec>
void run(pipeline& all, Codec codec, int from, const output& to, bool shows_progress) {
    std::vector<std::jthread> threads;
    try {
        threads.emplace_back([&] {
            run_stage(all, [&](uring::context& loop) { return read_all(loop, all, from); });
        });
        threads.emplace_back(
            [&] { run_stage(all, [&](uring::context&) { return compute_all(all, codec); }); });
    } catch (const std::system_error&) { // no thread
        all.fail(std::current_exception());
    }
    run_stage(all, [&](uring::context& loop) {
        if (shows_progress) {
            loop.spawn(show_progress(loop, all));
        }
        return write_all(loop, all, to.descriptor(), to.is_stream());
    });
    threads.clear();
    all.rethrow();
}

int work(int count, char** arguments) {
    std::string from = "-";
    std::string to;
    int level = 3;
    bool decompresses = false;
    bool to_standard_output = false;
    bool replaces = false;
    bool is_quiet = false;
    CLI::App app("Compresses FILE to FILE.zst, or decompresses it, in stages on io_uring.");
    app.add_option("FILE", from, "the input; -: standard input, and output");
    app.add_flag("-d", decompresses, "decompress FILE.zst to FILE");
    app.add_option("-o", to, "the output");
    app.add_flag("-c", to_standard_output, "write to standard output");
    app.add_flag("-f", replaces, "replace an output that exists");
    app.add_flag("-q", is_quiet, "print errors only");
    app.add_option("--level", level)->check(CLI::Range(1, 19))->capture_default_str();
    CLI11_PARSE(app, count, arguments);
    if (to_standard_output || (to.empty() && from == "-")) {
        to = "-";
    } else if (to.empty() && !decompresses) {
        to = from + ".zst";
    } else if (to.empty() && from.size() > 4 && from.ends_with(".zst")) {
        to = from.substr(0, from.size() - 4);
    } else if (to.empty()) {
        throw std::runtime_error(from + ": the name does not end with .zst; name the output: -o");
    }
    if (to == "-" && !decompresses && !replaces && ::isatty(STDOUT_FILENO) == 1) {
        throw std::runtime_error("standard output is a terminal; -f writes compressed data there");
    }

    const uring::descriptor input(from == "-" ? ::dup(STDIN_FILENO)
                                              : ::open(from.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status{};
    if (!input || ::fstat(input.get(), &status) != 0) {
        throw failure(from + ": cannot be opened");
    }
    output result(to, replaces);
    pipeline all;
    const bool shows = !is_quiet && ::isatty(STDERR_FILENO) == 1;
    try {
        decompresses ? run(all, decompressor(), input.get(), result, shows)
                     : run(all, compressor(level), input.get(), result, shows);
    } catch (const std::system_error&) {
        throw;
    } catch (const std::exception& problem) { // of the codec
        throw std::runtime_error(from + ": " + problem.what());
    }
    if (S_ISREG(status.st_mode) && !result.is_stream()) {
        std::ignore = ::fchmod(result.descriptor(), status.st_mode & 0777);
    }
    result.commit();
    if (!is_quiet && to != "-") {
        fmt::print(stderr, "{}{}: {} => {} bytes, {}\n", shows ? "\r" : "", from,
                   all.bytes_in.load(), all.bytes_out.load(), to);
    }
    return 0;
}

} // namespace

int main(int count, char** arguments) {
    std::signal(SIGPIPE, SIG_IGN); // writes then fail, and say why
    std::signal(SIGXFSZ, SIG_IGN);
    try {
        return work(count, arguments);
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "uring_zstd: %s\n", problem.what());
        return 1;
    }
}
