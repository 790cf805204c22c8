// SPDX-License-Identifier: MIT
//
// Compresses a file, or hashes or copies it, in stages that swap full buffers for empty ones. README.md has a
// tour of the files.

#include "failure.hpp"
#include "files.hpp"
#include "options.hpp"
#include "output.hpp"
#include "pipeline.hpp"
#include "progress.hpp"
#include "signals.hpp"

#include <CLI/CLI.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using uring_zstd::action;
using uring_zstd::options;

constexpr int exit_usage = 2;
constexpr int exit_interrupted = 130;

void declare(CLI::App& app, options& chosen) {
    constexpr std::size_t kib = 1024;
    app.add_option("FILE", chosen.input, "what to read; - is standard input")
        ->required()
        ->type_name(" ");
    app.add_option("-o,--output", chosen.output,
                   "what to write, FILE.zst by default; - is standard output")
        ->type_name("FILE");
    auto* const level =
        app.add_option("--level", chosen.level, "of compression; also -1 to -19, 3 by default")
            ->check(CLI::Range(1, 19));
    auto* const hash = app.add_flag_callback(
        "--hash", [&chosen] { chosen.what = action::hash; },
        "print the SHA-256 of FILE instead, as sha256sum does");
    auto* const copy = app.add_flag_callback(
        "--copy", [&chosen] { chosen.what = action::copy; }, "copy FILE to the output instead");
    auto* const workers =
        app.add_option("--workers", chosen.workers,
                       "threads of libzstd that compress; 0: the loop's own; by default 1 for "
                       "levels 3 to 12, else 0")
            ->check(CLI::Range(0, 64));
    hash->excludes(copy)->excludes(level)->excludes(workers)->excludes("--output");
    copy->excludes(level)->excludes(workers)->needs("--output");
    app.add_option("--loops", chosen.loops,
                   "1: one for all stages; 2: one to read and write, one to compress; 3: one each")
        ->check(CLI::Range(1, 3))
        ->capture_default_str();
    app.add_option("--lanes", chosen.lanes, "blocks on the way between two stages")
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    app.add_option("--buffer", chosen.buffer_size, "the size of a block, 64K to 8M")
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::Range(64 * kib, 8 * kib * kib))
        ->type_name("SIZE")
        ->default_str("256K");
    app.add_flag("--direct", chosen.direct, "bypass the page cache");
    app.add_flag("-f,--force", chosen.force, "replace the output if it exists");
    app.add_flag("-q,--quiet", chosen.quiet, "only say what goes wrong");
}

/// The words after the program's, of which -19 becomes --level=19, as for zstd; backwards, as CLI11 likes it.
std::vector<std::string> words_of(int count, char** arguments) {
    std::vector<std::string> words(arguments + 1, arguments + count);
    for (std::string& each : words) {
        if (each == "--") {
            break;
        }
        if (each.size() > 1 && each[0] == '-' &&
            each.find_first_not_of("0123456789", 1) == std::string::npos) {
            each = "--level=" + each.substr(1);
        }
    }
    return {words.rbegin(), words.rend()};
}

/// What follows from what was chosen. @throws CLI::ValidationError
void complete(options& chosen) {
    const bool from_stream = chosen.input == options::standard_stream;
    if (chosen.what == action::compress && chosen.output.empty()) {
        chosen.output = from_stream ? chosen.input : chosen.input + ".zst";
    }
    if (chosen.direct && (from_stream || chosen.output == options::standard_stream)) {
        throw CLI::ValidationError("--direct", "is for files, not for standard input and output");
    }
}

void work(const options& chosen) {
    using namespace uring_zstd;
    // As errors of writing they are reported, and the partial output is removed.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);

    const input from(chosen);
    std::optional<output> to;
    if (chosen.what != action::hash) {
        to.emplace(chosen);
    }
    const ending_signals
        signals; // until here, where opening a named pipe may wait, they just end us
    if (to) {
        to->create(from);
    }
    const outcome got = run_pipeline(chosen, from, to ? &*to : nullptr, signals);
    if (!to) {
        const std::string line = digest_line(got.digest, chosen.input);
        if (std::fputs(line.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
            throw file_error("standard output", "write", last_error());
        }
        return;
    }
    to->commit(got.bytes_out, from);
    if (!chosen.quiet && chosen.output != options::standard_stream) {
        std::fputs(summary(from.name(), got.bytes_in, to->name(), got.bytes_out).c_str(), stderr);
    }
}

int run(int count, char** arguments) {
    options chosen;
    CLI::App app("Compresses FILE, as zstd does.", "uring_zstd");
    declare(app, chosen);
    try {
        app.parse(words_of(count, arguments));
        complete(chosen);
    } catch (const CLI::ParseError& problem) {
        return app.exit(problem) == 0 ? EXIT_SUCCESS : exit_usage;
    }
    try {
        work(chosen);
    } catch (const uring_zstd::interrupted& signal) {
        std::fprintf(stderr, "uring_zstd: %s\n", signal.what());
        return exit_interrupted;
    }
    return EXIT_SUCCESS;
}

} // namespace

int main(int count, char** arguments) {
    try {
        return run(count, arguments);
    } catch (const std::bad_alloc&) {
        std::fputs("uring_zstd: not enough memory\n", stderr);
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "uring_zstd: %s\n", problem.what());
    }
    return EXIT_FAILURE;
}
