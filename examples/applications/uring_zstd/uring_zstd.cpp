// SPDX-License-Identifier: MIT
//
// Compresses files, or decompresses, tests, hashes or copies them, in stages that swap full buffers
// for empty ones. README.md has a tour of the files.

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

/// Opens /dev/null on each standard descriptor that is closed. Otherwise an output could get its
/// number, and messages would be written into the output. Reading standard input and writing
/// standard output still fail. @throws stream_error
void occupy_standard_descriptors() {
    constexpr std::array modes{O_WRONLY, O_RDONLY, O_WRONLY};
    for (int each = STDIN_FILENO; each <= STDERR_FILENO; ++each) {
        // open(2) returns the lowest free number, which is this one.
        if (::fcntl(each, F_GETFD) < 0 &&
            ::open("/dev/null", modes.at(static_cast<std::size_t>(each))) < 0) {
            throw stream_error("/dev/null", "open", last_error());
        }
    }
}

void say(const std::string& text) {
    std::fputs(text.c_str(), stderr);
}

void print_digest(const std::string& digest, const std::string& file) {
    const std::string line = digest_line(digest, file);
    if (std::fputs(line.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
        throw stream_error("standard output", "write", last_error());
    }
}

void process(const options& chosen) {
    std::optional<ending_signals> signals; // destroyed last: a signal then finds no partial output
    const input from(chosen);
    std::optional<output> to;
    if (chosen.writes()) {
        to.emplace(chosen);
    }
    signals.emplace(); // until here, where opening a named pipe may wait, they just end us
    if (to) {
        to->create(from);
    }
    if (chosen.remove) {
        from.check_removable();
        if (to->is_stream()) {
            throw file_error(from.name(), "remove", "its output is a stream");
        }
    }
    if (chosen.verbose) {
        say(settings(chosen, from.name()));
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
        say(summary(chosen, from.name(), to ? to->name() : std::string(), got));
    }
    if (chosen.remove) {
        from.remove();
    }
}

/// @returns the exit status. One file's failure does not stop the others, unless nothing more can
/// be written.
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
    // As errors of writing they are reported, and the partial output is removed.
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
