// SPDX-License-Identifier: MIT
#include "command_line.hpp"

#include "failure.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

namespace uring_zstd {

namespace {

constexpr int exit_usage = 2;
constexpr std::size_t kib = 1024;
constexpr int most_workers = 64;

/// The options as given, before their combination is checked.
struct words {
    bool decompress = false;
    bool test = false;
    bool hash = false;
    bool copy = false;
    bool to_standard_output = false;
    bool keep = false;
    std::optional<int> threads;
};

CLI::Validator between(std::size_t low, std::size_t high) {
    return CLI::Range(low, high).description(""); // the option's own description says it
}

void declare_actions(CLI::App& app, words& said, options& chosen) {
    app.add_flag("-d,--decompress", said.decompress, "decompress FILE.zst to FILE");
    app.add_flag("-t,--test", said.test, "decompress each FILE without writing anything");
    app.add_flag("--hash", said.hash, "print the SHA-256 of each FILE, as sha256sum does");
    app.add_flag("--copy", said.copy, "copy FILE to the output");
    app.add_option("-o,--output", chosen.output, "write to this file; - is standard output")
        ->type_name("FILE")
        ->check([](const std::string& name) { return name.empty() ? "is empty" : ""; });
    app.add_flag("-c,--stdout", said.to_standard_output, "write to standard output");
    app.add_flag("-k,--keep", said.keep, "keep each FILE (the default)");
    app.add_flag("--rm", chosen.remove, "remove each FILE when its output is complete");
    app.add_flag("-f,--force", chosen.force,
                 "replace existing files; write compressed data to a terminal");
    app.add_flag("-q,--quiet", chosen.quiet, "print errors only");
    app.add_flag("-v,--verbose", chosen.verbose, "print the settings; with -c also the summary");
}

void declare_means(CLI::App& app, words& said, options& chosen) {
    app.add_option("--level", chosen.level, "compression level, 1 to 19; also as -1 to -19")
        ->check(between(1, 19))
        ->type_name("N")
        ->take_last()
        ->capture_default_str();
    app.add_option("-T,--threads", said.threads,
                   "compress with N threads, 1 to 64; 0: one for each processor")
        ->check(between(0, most_workers))
        ->type_name("N");
    app.add_option("--workers", chosen.workers,
                   "the same; 0: the event loop compresses (default: 1 for levels 3 to 12, else "
                   "0)")
        ->check(between(0, most_workers))
        ->type_name("N");
    app.add_option("--loops", chosen.loops,
                   "run N event loops: 1 for all stages, 2 (one reads and writes), or 3")
        ->check(between(1, 3))
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--lanes", chosen.lanes, "keep N blocks in flight between two stages, 1 to 64")
        ->check(between(1, 64))
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--buffer", chosen.buffer_size, "use blocks of this size, 64K to 8M")
        ->transform(CLI::AsSizeValue(false).description(""))
        ->check(between(64 * kib, 8 * kib * kib))
        ->type_name("SIZE")
        ->default_str("256K");
    app.add_flag("--direct", chosen.direct, "bypass the page cache (O_DIRECT)");
    app.set_version_flag(
        "-V,--version",
        [] {
            return fmt::format("uring_zstd {} (libzstd {})", TRYST_VERSION, ZSTD_versionString());
        },
        "print the version");
}

/// @throws CLI::ExcludesError
void refuse_together(const CLI::App& app, const char* option,
                     std::initializer_list<const char*> others) {
    for (const char* const other : others) {
        if (app.count(option) != 0 && app.count(other) != 0) {
            throw CLI::ExcludesError(option, other);
        }
    }
}

/// Done here and not by CLI11's `excludes`, which --help would list at every option. @throws
/// CLI::ExcludesError
void refuse_contradictions(const CLI::App& app) {
    refuse_together(app, "--hash",
                    {"--decompress", "--test", "--copy", "--output", "--stdout", "--rm", "--level",
                     "--threads", "--workers"});
    refuse_together(app, "--copy", {"--decompress", "--test", "--level", "--threads", "--workers"});
    refuse_together(app, "--output", {"--stdout"});
    refuse_together(app, "--rm", {"--keep", "--stdout", "--test"});
    refuse_together(app, "--threads", {"--workers"});
    refuse_together(app, "--quiet", {"--verbose"});
}

bool is_digit(char letter) noexcept {
    return letter >= '0' && letter <= '9';
}

/// Whether the word after this long option is its value.
bool needs_value(const CLI::App& app, std::string_view word) {
    const CLI::Option* const option =
        word.starts_with("--") ? app.get_option_no_throw(std::string(word)) : nullptr;
    return option != nullptr && option->get_items_expected_min() != 0;
}

/// The arguments, in which "-19" becomes "--level=19", and "-9c" "--level=9" and "-c"; backwards,
/// as CLI11 likes it. Values of options stay as they are.
std::vector<std::string> split(const CLI::App& app, int count, char** arguments) {
    constexpr std::string_view with_value = "To"; // the rest of the word belongs to these
    std::vector<std::string> result;
    bool are_options = true;
    bool value_follows = false;
    for (int i = 1; i < count; ++i) {
        const std::string_view word = arguments[i];
        const bool is_value = std::exchange(value_follows, false);
        are_options = are_options && (is_value || word != "--");
        if (is_value || !are_options || word.size() < 2 || word[0] != '-' || word[1] == '-') {
            value_follows = !is_value && are_options && needs_value(app, word);
            // CLI11 would take "[a,b]" for a list of files.
            result.push_back((word.starts_with('[') ? "./" : "") + std::string(word));
            continue;
        }
        std::string flags;
        std::string level;
        const std::size_t end = std::min(word.find_first_of(with_value), word.size());
        for (std::size_t k = 0; k != end; ++k) {
            if (!is_digit(word[k])) {
                flags += word[k];
            } else if (is_digit(word[k - 1])) {
                level += word[k];
            } else {
                level = word[k];
            }
        }
        flags += word.substr(end);
        value_follows = end + 1 == word.size();
        if (!level.empty()) {
            result.push_back("--level=" + level);
        }
        if (flags != "-") {
            result.push_back(flags);
        }
    }
    std::ranges::reverse(result);
    return result;
}

action chosen_action(const words& said) noexcept {
    if (said.hash) {
        return action::hash;
    }
    if (said.copy) {
        return action::copy;
    }
    if (said.test) {
        return action::test;
    }
    return said.decompress ? action::decompress : action::compress;
}

/// Settles what options leave open, and refuses those that do not go together. @throws
/// CLI::ValidationError
void complete(command_line& all, const words& said) {
    options& chosen = all.common;
    chosen.what = chosen_action(said);
    if (said.threads) {
        const int processors = static_cast<int>(std::thread::hardware_concurrency());
        chosen.workers =
            *said.threads != 0 ? *said.threads : std::clamp(processors, 1, most_workers);
    }
    if (all.files.empty()) {
        if (::isatty(STDIN_FILENO) == 1) {
            throw CLI::ValidationError(
                "FILE", "is missing, and standard input is a terminal (- reads from it)");
        }
        all.files.emplace_back(options::standard_stream);
    }
    if (said.to_standard_output) {
        chosen.output = options::standard_stream;
    }
    if (said.copy && chosen.output.empty()) {
        throw CLI::ValidationError("--copy", "needs --output or --stdout");
    }
    const bool to_stream = chosen.output == options::standard_stream;
    if (all.files.size() > 1 && !chosen.output.empty() && !to_stream) {
        throw CLI::ValidationError("--output", "takes one FILE only (-c writes several)");
    }
    const bool from_stream = std::ranges::count(all.files, options::standard_stream) != 0;
    if (chosen.direct && (from_stream || to_stream)) {
        throw CLI::ValidationError("--direct", "is for files, not for standard input and output");
    }
    if (chosen.remove && (from_stream || to_stream || !chosen.writes())) {
        throw CLI::ValidationError("--rm", "is for files, not for standard input and output");
    }
}

bool take_suffix(std::string& name, std::string_view suffix) {
    const std::string_view base = std::string_view(name).substr(name.rfind('/') + 1);
    if (base.size() <= suffix.size() || !base.ends_with(suffix)) {
        return false;
    }
    name.resize(name.size() - suffix.size());
    return true;
}

/// @throws file_error: an output beside a device would be in /dev, and might have no end
void refuse_device(const std::string& file) {
    struct stat status{};
    if (::stat(file.c_str(), &status) == 0 &&
        (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode))) {
        throw file_error(file, "name the output", "it is a device (-o or -c says where to write)");
    }
}

std::string decompressed_name(const std::string& file) {
    std::string name = file;
    if (take_suffix(name, ".zst")) {
        return name;
    }
    if (take_suffix(name, ".tzst")) {
        return name + ".tar";
    }
    throw file_error(file, "decompress", "unknown suffix, not .zst or .tzst (-o names the output)");
}

} // namespace

options command_line::for_file(const std::string& file) const {
    options result = common;
    result.input = file;
    if (!result.output.empty() || !result.writes()) {
        return result;
    }
    if (file == options::standard_stream) {
        result.output = options::standard_stream;
    } else {
        refuse_device(file);
        result.output = result.what == action::decompress ? decompressed_name(file) : file + ".zst";
    }
    return result;
}

std::variant<command_line, int> parse(int count, char** arguments) {
    command_line all;
    words said;
    CLI::App app("Compresses each FILE to FILE.zst, as zstd does. Without FILE, or if FILE is -,\n"
                 "compresses standard input to standard output.",
                 "uring_zstd");
    app.set_help_flag("-h,--help", "print this help");
    auto* const files =
        app.add_option("FILE", all.files, "files to read; - is standard input")->type_name(" ");
    declare_actions(app, said, all.common);
    declare_means(app, said, all.common);
    app.footer(
        "Exit status: 0 on success, 1 if a file failed, 2 for wrong usage, 130 after a signal.");
    try {
        app.parse(split(app, count, arguments));
        refuse_contradictions(app);
        all.files = files->results(); // as they are: CLI11 converts "{}" to no file
        complete(all, said);
    } catch (const CLI::ParseError& problem) {
        return app.exit(problem) == 0 ? EXIT_SUCCESS : exit_usage;
    }
    return all;
}

} // namespace uring_zstd
