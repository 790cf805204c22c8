// SPDX-License-Identifier: MIT
//
// Compresses, decompresses, tests, hashes or copies files in stages that swap full buffers for
// empty ones. README.md describes the files.

#include "command_line.hpp"
#include "failure.hpp"
#include "files.hpp"
#include "options.hpp"
#include "output.hpp"
#include "pipeline.hpp"
#include "progress.hpp"
#include "signals.hpp"

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <variant>

#include <fcntl.h>
#include <unistd.h>

namespace {

using namespace uring_zstd;

constexpr int exit_interrupted = 130;

/// Opens /dev/null on each closed standard descriptor. Otherwise an output file could get its
/// number, and messages would be written into that file. Reading standard input and writing
/// standard output still fail. @throws stream_error
void occupy_standard_descriptors() {
    constexpr std::array modes{O_WRONLY, O_RDONLY, O_WRONLY};
    for (int each = STDIN_FILENO; each <= STDERR_FILENO; ++each) {
        // open(2) returns the lowest free descriptor, which is `each`.
        if (::fcntl(each, F_GETFD) < 0 &&
            ::open("/dev/null", modes.at(static_cast<std::size_t>(each))) < 0) {
            throw stream_error("/dev/null", "open", last_error());
        }
    }
}

void print_message(const std::string& text) {
    std::fputs(text.c_str(), stderr);
}

void print_digest(const std::string& digest, const std::string& file) {
    const std::string line = digest_line(digest, file);
    if (std::fputs(line.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
        throw stream_error("standard output", "write", last_error());
    }
}

void process(const options& chosen) {
    // Declared first, hence destroyed last: a pending signal then finds no incomplete output.
    std::optional<termination_signals> signals;
    const input from(chosen);
    std::optional<output> to;
    if (chosen.writes()) {
        to.emplace(chosen);
    }
    // Until here signals simply end the program, because opening a named pipe may block.
    signals.emplace();
    if (to) {
        to->create(from);
    }
    if (chosen.remove) {
        from.check_removable();
        if (to->is_stream()) {
            throw file_error(from.name(), "remove", "its output is a stream; omit --rm");
        }
    }
    if (chosen.verbose) {
        print_message(settings(chosen, from.name()));
    }
    const outcome got = run_pipeline(chosen, from, to ? &*to : nullptr, *signals);
    if (chosen.what == action::hash) {
        print_digest(got.digest, chosen.input);
        return;
    }
    if (to) {
        to->commit(got.bytes_out, from);
    }
    const bool to_standard_output = chosen.output == options::standard_stream;
    if (chosen.verbose || (!chosen.quiet && !to_standard_output)) {
        print_message(summary(chosen, from.name(), to ? to->name() : std::string(), got));
    }
    if (chosen.remove) {
        from.remove();
    }
}

/// Processes all files. If one fails, the others are still processed, unless the output stream has
/// failed. @returns the exit status.
int process_all(const command_line& all) {
    int status = EXIT_SUCCESS;
    const auto fail = [&status](const char* why) {
        std::fprintf(stderr, "uring_zstd: %s\n", why);
        status = EXIT_FAILURE;
    };
    for (const std::string& each : all.files) {
        try {
            process(all.for_file(each));
        } catch (const interrupted& signal) {
            fail(signal.what());
            return exit_interrupted;
        } catch (const stream_error& problem) {
            fail(problem.what());
            return status;
        } catch (const std::bad_alloc&) {
            fail("not enough memory");
        } catch (const std::exception& problem) {
            fail(problem.what());
        }
    }
    return status;
}

} // namespace

int main(int count, char** arguments) {
    // Writes then fail with an error, which is reported, and the incomplete output is removed.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    try {
        occupy_standard_descriptors();
        const auto parsed = parse(count, arguments);
        const auto* const status = std::get_if<int>(&parsed);
        return status != nullptr ? *status : process_all(std::get<command_line>(parsed));
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "uring_zstd: %s\n", problem.what());
        return EXIT_FAILURE;
    }
}
