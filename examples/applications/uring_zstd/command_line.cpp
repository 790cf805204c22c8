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
constexpr int max_workers = 64;

/// Options as given, before their combination is checked.
struct raw_options {
    bool decompress = false;
    bool test = false;
    bool hash = false;
    bool copy = false;
    bool to_standard_output = false;
    bool keep = false;
    std::optional<int> threads;
};

CLI::Validator range(std::size_t low, std::size_t high) {
    return CLI::Range(low, high).description(""); // the option's help text contains the range
}

void declare_actions(CLI::App& app, raw_options& raw, options& chosen) {
    app.add_flag("-d,--decompress", raw.decompress, "decompress FILE.zst to FILE");
    app.add_flag("-t,--test", raw.test, "decompress each FILE without writing anything");
    app.add_flag("--hash", raw.hash, "print the SHA-256 of each FILE, as sha256sum does");
    app.add_flag("--copy", raw.copy, "copy FILE to the output");
    app.add_option("-o,--output", chosen.output, "write to this file; - is standard output")
        ->type_name("FILE")
        ->check([](const std::string& name) { return name.empty() ? "is empty" : ""; });
    app.add_flag("-c,--stdout", raw.to_standard_output, "write to standard output");
    app.add_flag("-k,--keep", raw.keep, "keep each FILE (the default)");
    app.add_flag("--rm", chosen.remove, "remove each FILE when its output is complete");
    app.add_flag("-f,--force", chosen.force,
                 "replace existing files; write compressed data to a terminal");
    app.add_flag("-q,--quiet", chosen.quiet, "print errors only");
    app.add_flag("-v,--verbose", chosen.verbose, "print the settings; with -c also the summary");
}

void declare_tuning(CLI::App& app, raw_options& raw, options& chosen) {
    app.add_option("--level", chosen.level, "compression level, 1 to 19; also as -1 to -19")
        ->check(range(1, 19))
        ->type_name("N")
        ->take_last()
        ->capture_default_str();
    app.add_option("-T,--threads", raw.threads,
                   "compress with N threads, 1 to 64; 0: one for each processor")
        ->check(range(0, max_workers))
        ->type_name("N");
    app.add_option("--workers", chosen.workers,
                   "like --threads, but 0: the event loop compresses (default: 1 for levels 3 to "
                   "12, else 0)")
        ->check(range(0, max_workers))
        ->type_name("N");
    app.add_option("--loops", chosen.loops,
                   "number of event loops: 1 for all stages, 2 (one reads and writes), or 3")
        ->check(range(1, 3))
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--lanes", chosen.lanes,
                   "number of concurrent reads, and of concurrent writes, 1 to 64")
        ->check(range(1, 64))
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--buffer", chosen.buffer_size, "block size, 64K to 8M")
        ->transform(CLI::AsSizeValue(false).description(""))
        ->check(range(64 * kib, 8 * kib * kib))
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
void refuse_combination(const CLI::App& app, const char* option,
                        std::initializer_list<const char*> others) {
    for (const char* const other : others) {
        if (app.count(option) != 0 && app.count(other) != 0) {
            throw CLI::ExcludesError(option, other);
        }
    }
}

/// CLI11's `excludes` would list these conflicts in --help at every option.
/// @throws CLI::ExcludesError
void refuse_contradictions(const CLI::App& app) {
    refuse_combination(app, "--hash",
                       {"--decompress", "--test", "--copy", "--output", "--stdout", "--rm",
                        "--level", "--threads", "--workers"});
    refuse_combination(app, "--copy",
                       {"--decompress", "--test", "--level", "--threads", "--workers"});
    refuse_combination(app, "--output", {"--stdout"});
    refuse_combination(app, "--rm", {"--keep", "--stdout", "--test"});
    refuse_combination(app, "--threads", {"--workers"});
    refuse_combination(app, "--quiet", {"--verbose"});
}

bool is_digit(char letter) noexcept {
    return letter >= '0' && letter <= '9';
}

/// Whether `word` is a long option whose value is the next argument.
bool needs_value(const CLI::App& app, std::string_view word) {
    const CLI::Option* const option =
        word.starts_with("--") ? app.get_option_no_throw(std::string(word)) : nullptr;
    return option != nullptr && option->get_items_expected_min() != 0;
}

/// Converts "-19" to "--level=19", and "-9c" to "--level=9" and "-c". Values of options stay
/// unchanged. @returns the arguments in reverse order, as CLI11 expects.
std::vector<std::string> split(const CLI::App& app, int count, char** arguments) {
    constexpr std::string_view with_value = "To"; // the rest of the word is the value of these
    std::vector<std::string> result;
    bool are_options = true;
    bool value_follows = false;
    for (int i = 1; i < count; ++i) {
        const std::string_view word = arguments[i];
        const bool is_value = std::exchange(value_follows, false);
        are_options = are_options && (is_value || word != "--");
        if (is_value || !are_options || word.size() < 2 || word[0] != '-' || word[1] == '-') {
            value_follows = !is_value && are_options && needs_value(app, word);
            // CLI11 would parse "[a,b]" as a list of files.
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

action chosen_action(const raw_options& raw) noexcept {
    if (raw.hash) {
        return action::hash;
    }
    if (raw.copy) {
        return action::copy;
    }
    if (raw.test) {
        return action::test;
    }
    return raw.decompress ? action::decompress : action::compress;
}

/// Sets the defaults that depend on other options, and refuses invalid combinations.
/// @throws CLI::ValidationError
void complete(command_line& all, const raw_options& raw) {
    options& chosen = all.common;
    chosen.what = chosen_action(raw);
    if (raw.threads) {
        const int processors = static_cast<int>(std::thread::hardware_concurrency());
        chosen.workers = *raw.threads != 0 ? *raw.threads : std::clamp(processors, 1, max_workers);
    }
    if (all.files.empty()) {
        if (::isatty(STDIN_FILENO) == 1) {
            throw CLI::ValidationError(
                "FILE", "is missing, and standard input is a terminal; use - to read from it");
        }
        all.files.emplace_back(options::standard_stream);
    }
    if (raw.to_standard_output) {
        chosen.output = options::standard_stream;
    }
    if (raw.copy && chosen.output.empty()) {
        throw CLI::ValidationError("--copy", "requires --output or --stdout");
    }
    const bool to_stream = chosen.output == options::standard_stream;
    if (all.files.size() > 1 && !chosen.output.empty() && !to_stream) {
        throw CLI::ValidationError("--output", "works with a single FILE only; use -c for several");
    }
    const bool from_stream = std::ranges::count(all.files, options::standard_stream) != 0;
    if (chosen.direct && (from_stream || to_stream)) {
        throw CLI::ValidationError("--direct", "does not work with standard input or output");
    }
    if (chosen.remove && (from_stream || to_stream || !chosen.writes())) {
        throw CLI::ValidationError("--rm", "does not work with standard input or output");
    }
}

bool remove_suffix(std::string& name, std::string_view suffix) {
    const std::string_view base = std::string_view(name).substr(name.rfind('/') + 1);
    if (base.size() <= suffix.size() || !base.ends_with(suffix)) {
        return false;
    }
    name.resize(name.size() - suffix.size());
    return true;
}

/// The default output for a device would be in /dev, and might grow without end.
/// @throws file_error if the file is a device.
void refuse_device(const std::string& file) {
    struct stat status{};
    if (::stat(file.c_str(), &status) == 0 &&
        (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode))) {
        throw file_error(file, "name the output", "the input is a device; use -o or -c");
    }
}

std::string decompressed_name(const std::string& file) {
    std::string name = file;
    if (remove_suffix(name, ".zst")) {
        return name;
    }
    if (remove_suffix(name, ".tzst")) {
        return name + ".tar";
    }
    throw file_error(file, "decompress",
                     "the suffix is not .zst or .tzst; use -o to name the output");
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
    raw_options raw;
    CLI::App app("Compresses each FILE to FILE.zst, as zstd does. Without FILE, or if FILE is -,\n"
                 "compresses standard input to standard output.",
                 "uring_zstd");
    app.set_help_flag("-h,--help", "print this help");
    auto* const files =
        app.add_option("FILE", all.files, "files to read; - is standard input")->type_name(" ");
    declare_actions(app, raw, all.common);
    declare_tuning(app, raw, all.common);
    app.footer(
        "Exit status: 0 on success, 1 if a file failed, 2 for wrong usage, 130 after a signal.");
    try {
        app.parse(split(app, count, arguments));
        refuse_contradictions(app);
        all.files = files->results(); // unconverted: CLI11 would convert "{}" to an empty list
        complete(all, raw);
    } catch (const CLI::ParseError& problem) {
        return app.exit(problem) == 0 ? EXIT_SUCCESS : exit_usage;
    }
    return all;
}

} // namespace uring_zstd
