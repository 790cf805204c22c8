// SPDX-License-Identifier: MIT
#include "text_reader.hpp"

#include <algorithm>

namespace tsp {

namespace {

constexpr std::string_view blanks = " \t\r\v\f";

bool is_printable(char c) noexcept {
    return c >= ' ' && c <= '~';
}

bool is_blank(char c) noexcept {
    return c == '\n' || blanks.find(c) != std::string_view::npos;
}

} // namespace

std::string_view trimmed(std::string_view text) noexcept {
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string_view next_word(std::string_view& rest) noexcept {
    const std::size_t end = std::min(rest.find_first_of(blanks), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest = trimmed(rest.substr(end));
    return word;
}

std::string printable(std::string_view text) {
    constexpr std::size_t max_size = 60;
    std::string shown(text.substr(0, max_size));
    std::ranges::replace_if(shown, [](char c) { return !is_printable(c); }, '?');
    return text.size() > max_size ? shown + "..." : shown;
}

bool text_reader::read_char(char& c) {
    if (!from_.get(c)) {
        if (from_.bad()) {
            fail("cannot read the file");
        }
        return false;
    }
    line_number_ += line_has_ended_ ? 1 : 0;
    line_has_ended_ = c == '\n';
    return true;
}

bool text_reader::read_line() {
    do {
        text_ = {};
        char c{};
        if (!read_char(c)) {
            return false;
        }
        std::size_t size = 0;
        for (bool more = true; more && c != '\n'; more = read_char(c)) {
            if (size == buffer_.size()) {
                fail("the line is longer than {} characters", max_line);
            }
            buffer_[size++] = c;
        }
        text_ = trimmed({buffer_.data(), size});
    } while (text_.empty());
    return true;
}

bool text_reader::read_word() {
    text_ = {};
    char c{};
    do {
        if (!read_char(c)) {
            return false;
        }
    } while (is_blank(c));
    std::size_t size = 0;
    for (bool more = true; more && !is_blank(c); more = read_char(c)) {
        if (size == buffer_.size()) {
            fail("the word is longer than {} characters", max_line);
        }
        buffer_[size++] = c;
    }
    text_ = {buffer_.data(), size};
    return true;
}

} // namespace tsp
