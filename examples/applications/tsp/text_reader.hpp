// SPDX-License-Identifier: MIT
/// @file
/// Reads a text by lines or words, and counts lines for error messages. Uses constant memory.
#pragma once

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <istream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace tsp {

/// Removes blanks at both ends.
std::string_view trimmed(std::string_view text) noexcept;

/// Removes the first word from `rest` and returns it.
std::string_view next_word(std::string_view& rest) noexcept;

/// Shortens any text and replaces unprintable characters, for a message or a name.
std::string printable(std::string_view text);

/// Converts all of `word`, which may begin with a plus sign.
template <class Number>
std::optional<Number> number(std::string_view word) noexcept {
    if (word.size() > 1 && word[0] == '+' && word[1] != '-') {
        word.remove_prefix(1);
    }
    Number value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) {
        return std::nullopt;
    }
    return value;
}

class text_reader {
public:
    static constexpr std::size_t max_line = 1022; ///< Also the limit for words.

    /// @param file  the name of the file in messages.
    text_reader(std::istream& from, const std::string& file) : from_(from), file_(file) {}

    const std::string& file() const noexcept { return file_; }
    std::size_t line_number() const noexcept { return line_number_; }

    /// The last line or word read, trimmed; empty at the end of the file.
    std::string_view text() const noexcept { return text_; }

    /// Reads the next line that is not blank. After `read_word` this may be the rest of a line.
    /// @returns false at the end of the file.
    bool read_line();

    /// Reads the next word; the end of a line ends a word. @returns false at the end of the file.
    bool read_word();

    /// @throws std::runtime_error "FILE:LINE: MESSAGE", or "FILE: MESSAGE" before the first line.
    template <class... Args>
    [[noreturn]] void fail(fmt::format_string<Args...> message, Args&&... args) const {
        throw std::runtime_error(fmt::format(
            "{}:{} {}", file_, line_number_ == 0 ? "" : fmt::format("{}:", line_number_),
            fmt::format(message, std::forward<Args>(args)...)));
    }

private:
    bool read_char(char& c);

    std::istream& from_;
    const std::string& file_;
    std::array<char, max_line> buffer_{};
    std::string_view text_;
    std::size_t line_number_ = 0;
    bool line_has_ended_ = true;
};

} // namespace tsp
